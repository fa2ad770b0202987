"""Users, roles and grants: their statements. What checks rights is `snowmelt.runtime.rights`."""
