// The values of every type as snowflake-sdk writes them: names and rows, as JSON.
const { connection, run } = require("./connection");
// Where values are wanted as text, the driver writes a word for NULL.
const text = (value) => (value === "NULL" || value === null ? null : typeof value === "object" ? JSON.stringify(value) : value);
(async () => {
  await new Promise((resolve, reject) => connection.connect((error) => (error ? reject(error) : resolve())));
  await run(process.env.SETTINGS);
  const [names, rows] = await new Promise((resolve, reject) =>
    connection.execute({
      sqlText: process.env.QUERY,
      fetchAsString: ["Number", "Boolean", "Date", "JSON", "Buffer"],
      complete: (error, statement, found) =>
        error ? reject(error) : resolve([statement.getColumns().map((column) => column.getName()), found]),
    }));
  console.log(JSON.stringify({ names, rows: rows.map((row) => names.map((name) => text(row[name]))) }));
  await new Promise((resolve) => connection.destroy(resolve));
})().catch((error) => { console.error(error); process.exit(1); });
