// What Node programs do with snowflake-sdk: connect, bind, insert rows, stream, fail.
const { connection, run } = require("./connection");
const same = (found, wanted) => {
  if (JSON.stringify(found) !== JSON.stringify(wanted)) throw new Error(`${JSON.stringify(found)} is not ${JSON.stringify(wanted)}`);
};
(async () => {
  await new Promise((resolve, reject) => connection.connect((error) => (error ? reject(error) : resolve())));
  same(await run("SELECT 1 AS a, 'x' AS b, NULL AS c, TRUE AS d, 1.5::NUMBER(10, 2) AS e"), [{ A: 1, B: "x", C: null, D: true, E: 1.5 }]);
  await run("CREATE OR REPLACE TABLE from_node (id INT, name VARCHAR)");
  await run("INSERT INTO from_node VALUES (?, ?)", [[1, "one"], [2, "two"]]);
  same(await run("SELECT * FROM from_node WHERE id > ? ORDER BY id", [1]), [{ ID: 2, NAME: "two" }]);
  same((await run("SELECT SEQ4() AS n FROM TABLE(GENERATOR(ROWCOUNT => 60000))")).length, 60000);
  const failed = await run("SELECT * FROM nowhere").catch((error) => error);
  same([failed.code, failed.sqlState], ["002003", "42S02"]);
  await new Promise((resolve) => connection.destroy(resolve));
  console.log("node");
})().catch((error) => { console.error(error); process.exit(1); });
