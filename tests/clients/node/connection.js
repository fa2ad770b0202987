// A connection to the server, and a statement as a promise of its rows.
const snowflake = require("snowflake-sdk");
snowflake.configure({ logLevel: "ERROR" });
const connection = snowflake.createConnection({
  account: "snowmelt",
  username: "admin",
  password: process.env.SNOWMELT_ADMIN_PASSWORD,
  accessUrl: `http://127.0.0.1:${process.env.SNOWMELT_PORT}`,
  database: process.env.SNOWMELT_DATABASE,
  schema: "PUBLIC",
});
const run = (sqlText, binds) =>
  new Promise((resolve, reject) =>
    connection.execute({ sqlText, binds, complete: (error, _, rows) => (error ? reject(error) : resolve(rows)) }));
module.exports = { connection, run };
