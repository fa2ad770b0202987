"""Queries that name every operator once, over T(K, A, B, S, F, D, Z), U(K, A, C) and W(A, D)."""

# ruff: noqa: E501 (one query a line)
from __future__ import annotations

ROWS = """
select k, a, b from t where b > 1
select k, a, b from t where b > 1 or s like 'x%' and a is not null
select a, a as a2, b + 1 as x, upper(s) as y, coalesce(b, -1) as z, iff(a > b, 'more', 'less') as w from t
select t.k, t.a, u.c from t join u on t.a = u.a
select t.k, t.a, u.c, w.d from t, u, w where t.a = u.a and u.c = w.a and t.b > 0
select t.k, u.c from t left join u on t.a = u.a and u.c > 1
select t.k, u.c from t left join u on t.a = u.a where u.a is null
select t.k, u.c from t left join u on t.a < u.a
select t.k, u.c from t right join u on t.a = u.a
select t.k, t.a, u.a as a2, u.c from t full join u on t.a = u.a
select t.k, u.k as k2 from t full join u on t.a = u.a and t.b > u.c
select t.k, u.k as k2 from t full join u on t.a > u.c or t.b = 1
select t.k, u.c from t cross join u
select x.a, t.k, y.c from u x join t on x.c = t.b cross join u y
select x.k, y.k as k2 from t x join t y on x.a = y.b
select x.k, y.k as k2, z.k as k3 from t x left join t y on x.a = y.b left join t z on y.a = z.b
select t.k from t join u on t.a is not distinct from u.a
select t.k, u.c, w.d from t left join u on t.a = u.a full join w on w.a = u.c
select t.k from t left join u on t.a = u.a and t.b > 1 left join w on w.d = u.c and w.a = t.a
select t.k, u.c from t, u where t.a = u.a (+) and u.c (+) > 1 and t.b > 0
select t.k, u.c from t, u where t.a (+) = u.a
select t.k, u.c, w.d from t, u, w where t.a = u.a (+) and u.c = w.a (+)
select t.k, u.c, w.d from t left join (u join w on u.c = w.a) on t.a = u.a
select 1 as x, 'a' as y union all select a, s from t
select v.x, t.k from (values (1), (2)) v(x) left join t on t.a = v.x
select a from t union all select a from u
select a from t union all select a from t
select a from t union select a from u
select a from t intersect select a from u
select a from t except select a from u
select a, b from t minus select a, c from u
select a from t where a is not null intersect (select a from u except select a from w)
select distinct a, s from t
select * from (select a, b, s from t) pivot(sum(b) for s in ('x', 'y', null))
select * from (select k, a, b from t) pivot(count(k) for b in (1, 2) default on null (0))
select * from (select k, a, b from t) unpivot(v for n in (a, b as 'second'))
select * from (select k, a, b from t) unpivot include nulls (v for n in (a, b))
select a from t union by name select a, c from u
select k, a from t union all by name select a, k from u
select distinct x.a from (select a from t union all select a from u) x left join w on w.a = x.a where w.d > 1 or w.d is null
"""

SUBQUERIES = """
select k from t where exists (select 1 from u where u.a = t.a)
select k from t where exists (select 1 from u)
select k from t where not exists (select 1 from u where u.a = t.a and u.c > t.b)
select k from t where not exists (select 1 from u where u.c > t.b)
select k from t where a in (select a from u)
select k from t where a not in (select a from u where a is not null)
select k from t where a not in (select a from u)
select k from t where a not in (select c from u where u.a = t.b)
select k from t where (a, b) in (select a, c from u)
select k from t where (a, b) not in (select a, c from u)
select k from t where a = any (select c from u)
select k from t where a > any (select c from u)
select k from t where a <= all (select c from u where u.a = t.b)
select k, a < all (select c from u) as x, b <> any (select a from u) as y from t
select k from t where b = 1 or exists (select 1 from u where u.a = t.a)
select k from t where not (a in (select a from u) and b in (select d from w))
select k, a in (select a from u) as x from t
select k, case when a in (select a from u) or b > 2 then 1 else 0 end as x from t
select k, (select max(c) from u where u.a = t.a) as m from t
select k, (select count(*) from u where u.a = t.a) as m from t
select k, (select count(*) from u where u.c > t.a) as m from t
select k, (select sum(c) from u) as m from t
select k, (select u.c from u where u.k = t.k and u.a = 1 order by u.c limit 1) as m from t
select k from t where b > (select avg(c) from u where u.a = t.a)
select k from t where b > (select min(c) from u where u.a = t.a and u.k in (select a from w where w.d = t.b))
select w.a, (select count(*) from t left join u on t.a = u.a where t.b = w.d) as n from w
select w.a, (select max(x.n) from (select u.k, count(*) n from u where u.a = w.a group by u.k) x) as m from w
select w.a from w where w.d in (select count(*) from u where u.a = w.a)
select k from t where exists (select 1 from u where u.a = t.a group by u.k having count(*) > 1)
select a, count(*) as n from t where exists (select * from u where u.a = t.a and exists (select * from w where w.a = u.c and w.d = t.b)) group by a
select k, x.m from t, lateral (select max(c) m from u where u.a = t.a) x
select k, x.c from t, lateral (select c from u where u.a = t.a and u.c < t.b) x
select k, x.c from t, lateral (select c from u where u.a = t.a order by c, k limit 1) x
select a from (select a, count(*) n from t group by a) where n > (select count(*) from w)
with x as (select a, sum(b) s from t group by a) select x.a, x.s, y.s as s2 from x join x y on x.a = y.a + 1
with x as (select a, sum(b) s from t group by a) select u.k, x.s from u left join x on u.a = x.a
with x as (select a, count(*) n from t group by a), y as (select a from x where n > 1) select * from y union all select n from x where a in (select a from y)
select t.k, u.c, w.d from t join u on t.k = u.k and t.a = (select max(a) from w) left join w on w.a = t.a
"""

GROUPS = """
select a, sum(b) as s, count(*) as n, count(b) as c, min(b) as lo, max(b) as hi from t group by a
select sum(b) as s from t group by a
select a, sum(f) as s, avg(f) as m from t group by a
select sum(f) as s, avg(f) as m, stddev(f) as d from t
select a, b, sum(f) as s from t group by a, b having count(*) > 1
select u.k, x.s from u left join (select a, sum(f) s from t group by a) x on u.a = x.a
select a + 1 as x, sum(b) as s from t group by a + 1 having count(*) > 1
select sum(b) as s, count(*) as n, avg(b) as m from t
select count(*) as n from t having count(*) > 3
select a, count(distinct b) as n, sum(distinct b) as s from t group by a
select a, avg(b) as m, stddev(b) as d, variance(b) as v, var_pop(b) as p from t group by a
select a, sum(z) as s, avg(z) as m, min(z) as lo from t group by a
select a, count_if(b > 1) as n, boolor_agg(b > 1) as x, booland_agg(b > 1) as y from t group by a
select a, max_by(k, b * 1000 + k) as x, min_by(k, b * 1000 + k) as y from t where b is not null and k is not null group by a
select a, listagg(s, ',') within group (order by s) as l from t group by a
select a, listagg(distinct s, '-') within group (order by s) as l from t group by a
select a, array_agg(b) within group (order by b) as l from t group by a
select a, median(b) as m, percentile_cont(0.25) within group (order by b) as p from t group by a
select a, approx_count_distinct(s) as n, hll(b) as h from t group by a
select a, bitor_agg(b) as x, bitand_agg(b) as y from t group by a
select a, b, grouping(a) as g, count(*) as n from t group by grouping sets ((a), (b), (a, b))
select a, s, sum(f) as x from t group by grouping sets ((a), (s))
select u.a, sum(x.s) as s from u join (select a, sum(b) s from t group by a) x on x.a = u.a group by u.a
select t.a, w.d, count(*) as n, sum(u.c) as s from t left join u on t.k = u.k left join w on u.a = w.a group by t.a, w.d
select count(*) as n from t left join u on t.a = u.a where u.a is null
select t.a, x.n from t left join (select a, count(*) n from u group by a having count(*) > 1) x on t.a = x.a
select a, sum(c) as s from (select a, c from u union all select a, b from t union all select d, a from w) group by a
select t.a, count(*) as n from t join u on t.a = u.a or t.b = u.c group by t.a
select x.a, y.n from (select distinct a from t) x full join (select a, count(*) n from u group by a) y on x.a = y.a
select s, min(k) as lo, max(b) as hi from t where a between 1 and 3 group by s
select coalesce(t.a, u.a) as x, count(t.k) as n, count(u.k) as m from t full join u on t.a = u.a and t.b < u.c group by coalesce(t.a, u.a)
select sum(s) as s from (select a, sum(b) s from t group by a having sum(b) > 1)
select n, count(*) as m from (select a, count(*) n from t group by a) group by n
select u.c, count(*) as n from t right join u on t.a = u.a group by u.c
select t.b, count(*) as n from t left join u on t.a = u.a and u.c = t.b group by t.b
select u.c, sum(t.b) as s from t left join u on t.a = u.a group by u.c
"""

WINDOWS = """
select t.k, u.c from t asof join u match_condition (t.b >= u.c) on t.a = u.a
select t.k, u.c from t asof join u match_condition (t.b < u.c) on t.a = u.a where t.s is not null
select a, b, row_number() over (partition by a order by b, k, s, f, d, z) as n from t
select b, row_number() over (partition by a order by b, k, s, f, d, z) as n from t
select a, rank() over (partition by a order by b) as r, dense_rank() over (partition by a order by b desc) as q, sum(b) over (partition by a) as s from t
select a, percent_rank() over (partition by a order by b) as p, cume_dist() over (partition by a order by b) as c from t
select a, sum(b) over (partition by a order by b) as s, count(*) over (partition by s order by b) as n from t
select * from t qualify row_number() over (partition by a order by b desc, k, s, f, d, z) = 1
select k, s from t qualify row_number() over (partition by a order by b desc, k, s, f, d, z) = 1
select a + 1 as a1, k, s, f, d from t qualify row_number() over (partition by a + 1 order by b desc, k, s, f, d, z) = 1
select k, s, n from (select coalesce(a, b) as ab, k, s, row_number() over (partition by coalesce(a, b) order by k, s, b, f, d, z, a) as n from t) where n = 1 and s is not null
select u.c, count(*) as n from u left join (select a + 0 as a0, b from t qualify row_number() over (partition by a + 0 order by b, k, s, f, d, z) <= 1) x on x.a0 = u.a group by u.c
select k, a from t qualify rank() over (partition by a order by b desc) <= 2 and k is not null
select k, lag(b) over (partition by a order by k, b, s, f, d, z) as x, lead(b, 2) over (partition by a order by k, b, s, f, d, z) as y from t where s = 'x'
select k, first_value(b) over (partition by a order by k, b, s, f, d, z) as x, last_value(b) over (partition by a order by k, b, s, f, d, z) as y from t
select k, nth_value(b, 2) over (partition by a order by k, b, s, f, d, z) as x, ntile(2) over (partition by a order by k, b, s, f, d, z) as y from t
select k, sum(b) over (partition by a order by k, b rows between 1 preceding and current row) as x from (select distinct k, a, b from t)
select a, b, sum(n) over (partition by a) as s from (select a, b, count(*) n from t group by a, b)
select a, sum(sum(b)) over (partition by a) as s from t group by a
select a, c from (select t.a, u.c, row_number() over (partition by t.a order by u.c, u.k, t.k, t.b, t.s, t.f, u.a, t.d, t.z) r from t left join u on t.k = u.k) where r <= 2
select a, sum(f) over (partition by a) as s from t
select a, b, rank() over (order by b) as r, dense_rank() over (order by b desc) as q from t
select k, row_number() over (order by b desc, k, s, f, d, z) as n, lag(b) over (order by k, b, s, f, d, z) as x from t
select k, sum(b) over (partition by a) as x, sum(b) over () as y, count(*) over (order by a) as n from t
select a, sum(b) as s, sum(sum(b)) over (order by a) as running from t group by a
select k, a from t qualify row_number() over (order by b, k, s, f, d, z) = 1
select a, r from (select a, rank() over (order by sum(b) desc) as r from t group by a) where r < 3
select x.a, y.a as a2, x.r from (select a, rank() over (order by sum(b)) as r from t group by a) x join (select a, rank() over (order by count(*) desc) as r from u group by a) y on x.r = y.r
select t.k, u.c, ntile(2) over (order by t.b, t.k, u.c, u.k, t.s, t.f, t.d, t.z) as x from t left join u on t.a = u.a
select k, a from t order by b, k, a, s, f, d, z limit 3
select k, a from t order by b desc, k, a, s, f, d, z limit 2 offset 1
select k, x.n from t left join (select a, count(*) n from u group by a order by n desc, a limit 2) x on t.a = x.a
select a from t union all select a from u order by a limit 3
"""

CLOCK = """
select k, d from t where d > current_date() - 2
select a, count(*) as n from t where d > current_date() - 2 group by a
select a, max(d) as m from t group by a having max(d) < current_date()
select * from (select a, d, rank() over (partition by a order by d) r from t) where d < current_date()
select k, a, d from t qualify rank() over (partition by a order by d) = 1 and d < current_date()
select * from (select max(d) m, count(*) n from t) where m < current_date() + 1
select * from (select d, k from t order by d, k limit 2) where d < current_date()
select u.k from u where exists (select 1 from t where t.k = u.k and t.d < current_date())
select u.k from u where k not in (select k from t where d < dateadd(day, -1, current_timestamp()::date))
select u.k, t.d from u left join t on t.k = u.k and t.d < current_date()
select u.k, t.d from t right join u on t.k = u.k and t.d >= current_date()
select k, (select count(*) from t where t.k = u.k and t.d <= current_date()) as n from u
select distinct a from t where d = current_date() or b = 1
select t.k from t, u where t.d < current_date() and t.k = u.k or t.d = current_date()
"""

TOP = (
    "SELECT k, a FROM t ORDER BY a DESC, k LIMIT 3",
    "SELECT k, a, s FROM t ORDER BY s, a DESC NULLS LAST, k LIMIT 5",
    "SELECT a, COUNT(*) AS n, SUM(b) AS s FROM t GROUP BY a ORDER BY n DESC, s, a LIMIT 2",
    "SELECT t.k, u.c FROM t JOIN u ON t.k = u.k ORDER BY c, t.k LIMIT 4",
    "SELECT DISTINCT a FROM t ORDER BY a LIMIT 3",
    "SELECT DISTINCT (a) FROM t ORDER BY a DESC LIMIT 3",
    "SELECT d, k + 1 AS k1 FROM t ORDER BY d, k1 DESC LIMIT 1",
    "SELECT TOP 2 z, k FROM t WHERE a > 0 ORDER BY z DESC, k",
)


def listed(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


UNTIMED = [*listed(ROWS), *listed(SUBQUERIES), *listed(GROUPS), *listed(WINDOWS)]
TIMED = listed(CLOCK)
