# Deploys the pipeline to a running Snowmelt server, and pauses its connector when it is destroyed.
#
# The objects themselves are defined in SQL, and `snowmelt apply` finds out what differs, in which order it has to
# change and what that costs; a second description of the same objects in HCL could only disagree. So Terraform runs
# it, when a definition changed. It needs no provider: `terraform_data` is built in. SNOWMELT_ADMIN_PASSWORD must be in
# the environment.

terraform {
  required_version = ">= 1.4"
}

variable "url" {
  description = "Address of the server, such as https://snowmelt.internal:8085."
  type        = string
}

variable "snowmelt" {
  description = "How the command is called where Terraform runs."
  type        = string
  default     = "snowmelt"
}

variable "connector" {
  description = "The SQL of the connector; nothing is captured where it is empty."
  type        = string
  default     = "connectors/embedded.sql"
}

locals {
  root     = abspath("${path.module}/..")
  pipeline = "${local.root}/pipeline"
  sql      = "${var.snowmelt} sql --url ${var.url} --database SHOP --schema CDC"
  definitions = sha256(join("", [
    for file in sort(fileset(local.pipeline, "**")) : filesha256("${local.pipeline}/${file}")
  ]))
}

resource "terraform_data" "pipeline" {
  triggers_replace = [local.definitions, var.url]

  provisioner "local-exec" {
    command = "${var.snowmelt} apply '${local.pipeline}' --url ${var.url}"
  }
}

resource "terraform_data" "tasks" {
  triggers_replace = [terraform_data.pipeline.id]

  provisioner "local-exec" {
    command = "${local.sql} -f '${local.root}/start.sql'"
  }
}

resource "terraform_data" "connector" {
  count            = var.connector == "" ? 0 : 1
  depends_on       = [terraform_data.pipeline]
  triggers_replace = [filesha256("${local.root}/${var.connector}"), var.url]
  input            = local.sql

  provisioner "local-exec" {
    command = "${local.sql} -f '${local.root}/${var.connector}'"
  }

  # Data is never destroyed by Terraform: the connector stops, and everything it brought stays.
  provisioner "local-exec" {
    when    = destroy
    command = "${self.input} -q 'ALTER CONNECTOR IF EXISTS shop PAUSE'"
  }
}

output "definitions" {
  description = "Fingerprint of what was deployed."
  value       = local.definitions
}
