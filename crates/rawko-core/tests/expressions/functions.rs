//! Every function: ordinary use, a missing value, the wrong type. That no function is left out is itself a test.

use std::collections::BTreeSet;

use rawko_core::expr::function_names;

use super::check;

struct Rows {
    function: &'static str,
    /// Expression and value.
    ordinary: &'static [(&'static str, &'static str)],
    /// What null as an argument gives.
    missing: &'static [(&'static str, &'static str)],
    /// Expression and the beginning of the message.
    mismatch: &'static [(&'static str, &'static str)],
}

const fn rows(
    function: &'static str,
    ordinary: &'static [(&'static str, &'static str)],
    missing: &'static [(&'static str, &'static str)],
    mismatch: &'static [(&'static str, &'static str)],
) -> Rows {
    Rows { function, ordinary, missing, mismatch }
}

/// They take any value, or none.
const CANNOT_MISMATCH: [&str; 7] = ["default", "is_null", "type", "string", "json", "now", "stateIn"];

static TEXT: &[Rows] = &[
    rows(
        "lower",
        &[("lower('ÀbC')", r#""àbc""#)],
        &[("lower(context.missing)", "null")],
        &[(
            "lower(context.count)",
            "error: `lower` takes a string as text, not a number in `lower(context.count)`",
        )],
    ),
    rows(
        "upper",
        &[("upper('aß')", r#""ASS""#)],
        &[("upper(context.missing)", "null")],
        &[("upper(context.list)", "error: `upper` takes a string as text, not a list")],
    ),
    rows(
        "trim",
        &[(r"trim('\n a b\t')", r#""a b""#)],
        &[("trim(context.missing)", "null")],
        &[("trim(true)", "error: `trim` takes a string as text, not a boolean")],
    ),
    rows(
        "replace",
        &[("replace('a-b-c', '-', '+')", r#""a+b+c""#), ("replace('abc', 'x', 'y')", r#""abc""#)],
        &[
            ("replace(context.missing, 'a', 'b')", "null"),
            ("replace('abc', 'a', context.missing)", "error: `replace` takes a string as to, not null"),
        ],
        &[
            ("replace('abc', 1, 'x')", "error: `replace` takes a string as from, not a number"),
            ("replace('abc', '', 'x')", "error: `replace` needs something to look for"),
        ],
    ),
    rows(
        "split",
        &[
            ("split('a,b,,c', ',')", r#"["a","b","","c"]"#),
            ("split('', ',')", r#"[""]"#),
            ("split('äb', '')", r#"["ä","b"]"#),
        ],
        &[("split(context.missing, ',')", "null")],
        &[("split('a b', 1)", "error: `split` takes a string as separator, not a number")],
    ),
    rows(
        "lines",
        &[(r"lines('a\nb\r\n')", r#"["a","b"]"#), ("lines('')", "[]")],
        &[("lines(context.missing)", "null")],
        &[("lines(1)", "error: `lines` takes a string as text, not a number")],
    ),
    rows(
        "join",
        &[
            ("join(context.words, ', ')", r#""b, a""#),
            ("join([1, null, true, 'x'])", r#""1nulltruex""#),
            ("join([], '-')", r#""""#),
        ],
        &[("join(context.missing, ',')", r#""""#)],
        &[
            ("join('ab', ',')", "error: `join` takes a list as list, not a string"),
            ("join([[1]], ',')", "error: `join` joins texts, numbers, booleans and nulls, not a list"),
        ],
    ),
    rows(
        "starts_with",
        &[("starts_with('abc', 'ab')", "true"), ("starts_with('abc', 'bc')", "false")],
        &[("starts_with(context.missing, 'a')", "false")],
        &[("starts_with('abc', context.missing)", "error: `starts_with` takes a string as start, not null")],
    ),
    rows(
        "ends_with",
        &[("ends_with('main.rs', '.rs')", "true"), ("ends_with('main.rs', 'main')", "false")],
        &[("ends_with(context.missing, 'a')", "false")],
        &[("ends_with(context.list, 1)", "error: `ends_with` takes a string as text, not a list")],
    ),
    rows(
        "glob",
        &[
            ("glob('src/main.rs', 'src/*.rs')", "true"),
            ("glob('abcbd', 'a*b?')", "true"),
            ("glob('abc', 'a?')", "false"),
            ("glob('', '*')", "true"),
            ("glob('', '?')", "false"),
            ("glob('aaab', '*a*b*')", "true"),
        ],
        &[("glob(context.missing, '*')", "false")],
        &[("glob('a', 1)", "error: `glob` takes a string as pattern, not a number")],
    ),
    rows(
        "length",
        &[("length('añ😀')", "3"), ("length(context.list)", "3"), ("length({a: 1})", "1")],
        &[("length(context.missing)", "0")],
        &[("length(5)", "error: `length` takes a string or a list or a map as x, not a number")],
    ),
    rows(
        "contains",
        &[
            ("contains('abc', 'bc')", "true"),
            ("contains(context.list, 1)", "true"),
            ("contains(context.map, 'b')", "true"),
            ("contains(context.map, 'z')", "false"),
        ],
        &[("contains(context.missing, 1)", "false"), ("contains(context.list, context.missing)", "false")],
        &[
            ("contains(1, 1)", "error: `contains` takes a string or a list or a map as x, not a number"),
            ("contains('abc', 1)", "error: only a string can be in a string, not a number"),
        ],
    ),
    rows(
        "index_of",
        &[
            ("index_of('äbc', 'c')", "2"),
            ("index_of(context.list, 2)", "2"),
            ("index_of(context.list, 9)", "null"),
            ("index_of('abc', 'x')", "null"),
        ],
        &[("index_of(context.missing, 1)", "null")],
        &[
            ("index_of({}, 'a')", "error: `index_of` takes a string or a list as x, not a map"),
            ("index_of('abc', 1)", "error: only a string can be in a string, not a number"),
        ],
    ),
    rows(
        "slice",
        &[
            ("slice('häuser', 1, 3)", r#""äu""#),
            ("slice(context.list, 1)", "[1,2]"),
            ("slice(context.list, -2)", "[1,2]"),
            ("slice('abc', 0, -1)", r#""ab""#),
            ("slice('abc', 2, 1)", r#""""#),
            ("slice(context.list, 1, 99)", "[1,2]"),
            ("slice(context.list, -99, 1)", "[3]"),
        ],
        &[
            ("slice(context.missing, 1)", "null"),
            ("slice('abc', context.missing)", "error: `slice` takes a number as from, not null"),
        ],
        &[
            ("slice(context.map, 1)", "error: `slice` takes a string or a list as x, not a map"),
            ("slice('abc', 0.5)", "error: a whole number is needed, not 0.5"),
        ],
    ),
];

static NUMBERS: &[Rows] = &[
    rows(
        "number",
        &[
            ("number(' 42 ')", "42"),
            ("number('-1.5e2')", "-150.0"),
            ("number(7)", "7"),
            ("number('7 apples')", "null"),
            ("number('inf')", "null"),
            ("number('NaN')", "null"),
            ("number('1e999')", "null"),
            ("number('')", "null"),
        ],
        &[("number(context.missing)", "null")],
        &[("number(true)", "error: `number` takes a number or a string as x, not a boolean")],
    ),
    rows(
        "int",
        &[
            ("int(2.9)", "2"),
            ("int(-2.9)", "-2"),
            ("int('3.7')", "3"),
            ("int('x')", "null"),
            ("int(1e300)", "1e+300"),
        ],
        &[("int(context.missing)", "null")],
        &[("int([])", "error: `int` takes a number or a string as x, not a list")],
    ),
    rows(
        "abs",
        &[("abs(-3)", "3"), ("abs(2.5)", "2.5"), ("abs(-9223372036854775808)", "9.223372036854776e+18")],
        &[("abs(context.missing)", "null")],
        &[("abs('1')", "error: `abs` takes a number as x, not a string")],
    ),
    rows(
        "floor",
        &[("floor(2.7)", "2"), ("floor(-2.1)", "-3"), ("floor(5)", "5")],
        &[("floor(context.missing)", "null")],
        &[("floor('2')", "error: `floor` takes a number as x, not a string")],
    ),
    rows(
        "ceil",
        &[("ceil(2.1)", "3"), ("ceil(-2.7)", "-2")],
        &[("ceil(context.missing)", "null")],
        &[("ceil({})", "error: `ceil` takes a number as x, not a map")],
    ),
    rows(
        "round",
        &[("round(2.5)", "3"), ("round(-2.5)", "-3"), ("round(2.345, 1)", "2.3"), ("round(7, 2)", "7")],
        &[("round(context.missing)", "null"), ("round(context.missing, 2)", "null")],
        &[
            ("round('2.5')", "error: `round` takes a number as x, not a string"),
            ("round(2.5, 99)", "error: `round` takes 0 to 15 digits"),
        ],
    ),
    rows(
        "min",
        &[("min(3, 1.5, 2)", "1.5"), ("min(context.list)", "1"), ("min([])", "null"), ("min([4], 5)", "4")],
        &[
            ("min(context.missing)", "null"),
            ("min(1, context.missing)", "error: `min` takes a number or a list as x, not null"),
        ],
        &[
            ("min('a', 'b')", "error: `min` takes a number or a list as x, not a string"),
            ("min(context.words)", "error: a list of numbers is needed, and one element is a string"),
        ],
    ),
    rows(
        "max",
        &[("max(3, 1.5, 2)", "3"), ("max(context.list)", "3"), ("max([])", "null")],
        &[("max(context.missing)", "null")],
        &[("max([1, null])", "error: a list of numbers is needed, and one element is null")],
    ),
    rows(
        "sum",
        &[("sum(context.list)", "6"), ("sum([0.5, 1])", "1.5"), ("sum([])", "0")],
        &[("sum(context.missing)", "0")],
        &[
            ("sum(3)", "error: `sum` takes a list as list, not a number"),
            ("sum(context.words)", "error: a list of numbers is needed, and one element is a string"),
        ],
    ),
    rows(
        "avg",
        &[("avg(context.list)", "2"), ("avg([1, 2])", "1.5"), ("avg([])", "null")],
        &[("avg(context.missing)", "null")],
        &[("avg('ab')", "error: `avg` takes a list as list, not a string")],
    ),
    rows(
        "clamp",
        &[("clamp(7, 0, 5)", "5"), ("clamp(-1, 0, 5)", "0"), ("clamp(2.5, 0, 5)", "2.5")],
        &[("clamp(context.missing, 0, 5)", "null")],
        &[
            ("clamp(1, '0', 5)", "error: `clamp` takes a number as low, not a string"),
            ("clamp(1, 5, 0)", "error: `clamp` needs a low end that is not above the high end"),
        ],
    ),
];

static TIMES: &[Rows] = &[
    rows("now", &[("now()", "1767323045678"), ("now() - 678", "1767323045000")], &[], &[]),
    rows(
        "iso",
        &[("iso(0)", r#""1970-01-01T00:00:00Z""#), ("iso(now())", r#""2026-01-02T03:04:05.678Z""#)],
        &[("iso(context.missing)", "null")],
        &[
            ("iso('today')", "error: `iso` takes a number as ms, not a string"),
            ("iso(1e300)", "error: a moment outside of the years -9999 to 9999"),
        ],
    ),
    rows(
        "parse_time",
        &[
            ("parse_time('2026-01-02T03:04:05.678Z')", "1767323045678"),
            ("parse_time('2026-01-02T04:04:05+01:00')", "1767323045000"),
            ("parse_time('2026-01-02T03:04:05')", "1767323045000"),
            ("parse_time('1970-01-02')", "86400000"),
            ("parse_time('tomorrow')", "null"),
        ],
        &[("parse_time(context.missing)", "null")],
        &[("parse_time(0)", "error: `parse_time` takes a string as text, not a number")],
    ),
    rows(
        "format_time",
        &[
            ("format_time(0, '%Y-%m-%d %H:%M')", r#""1970-01-01 00:00""#),
            ("format_time(now(), '%A')", r#""Friday""#),
        ],
        &[("format_time(context.missing, '%Y')", "null")],
        &[
            ("format_time('x', '%Y')", "error: `format_time` takes a number as ms, not a string"),
            ("format_time(0, '%!')", "error: `%!` is not a format of time"),
        ],
    ),
    rows(
        "duration",
        &[
            ("duration('15m')", "900000"),
            ("duration('PT1H')", "3600000"),
            ("duration(250)", "250"),
            ("duration('soon')", "null"),
            ("now() + duration('1s') - now()", "1000"),
        ],
        &[("duration(context.missing)", "null")],
        &[("duration(true)", "error: `duration` takes a number or a string as x, not a boolean")],
    ),
];

static LISTS: &[Rows] = &[
    rows(
        "append",
        &[("append(context.list, 'x')", r#"[3,1,2,"x"]"#), ("append([], [1])", "[[1]]")],
        &[("append(context.missing, 1)", "[1]"), ("append([], context.missing)", "[null]")],
        &[("append('ab', 'c')", "error: `append` takes a list as list, not a string")],
    ),
    rows(
        "concat",
        &[("concat([1], [2], [3, 4])", "[1,2,3,4]"), ("concat([1])", "[1]")],
        &[("concat(context.missing, [1], context.missing)", "[1]"), ("concat(context.missing)", "[]")],
        &[("concat([1], 2)", "error: `concat` takes a list as list, not a number")],
    ),
    rows(
        "first",
        &[("first(context.list)", "3"), ("first([])", "null")],
        &[("first(context.missing)", "null")],
        &[("first('ab')", "error: `first` takes a list as list, not a string")],
    ),
    rows(
        "last",
        &[("last(context.list)", "2"), ("last([])", "null")],
        &[("last(context.missing)", "null")],
        &[("last({})", "error: `last` takes a list as list, not a map")],
    ),
    rows(
        "reverse",
        &[("reverse(context.list)", "[2,1,3]")],
        &[("reverse(context.missing)", "[]")],
        &[("reverse('ab')", "error: `reverse` takes a list as list, not a string")],
    ),
    rows(
        "sort",
        &[
            ("sort(context.list)", "[1,2,3]"),
            ("sort(context.words)", r#"["a","b"]"#),
            ("sort([2, 1.5, -1])", "[-1,1.5,2]"),
            ("pluck(sort([{n: 'b'}, {n: 'a'}], 'n'), 'n')", r#"["a","b"]"#),
            ("pluck(sort(context.items, 'id'), 'id')", "[1,2,3]"),
        ],
        &[("sort(context.missing)", "[]")],
        &[
            ("sort(1)", "error: `sort` takes a list as list, not a number"),
            ("sort([1, 'a'])", "error: `sort` puts numbers or strings in order, and one is a string"),
            ("sort([1, null])", "error: `sort` puts numbers or strings in order, and one is null"),
            ("sort(context.list, 'id')", "error: a number has no field `id`"),
        ],
    ),
    rows(
        "unique",
        &[
            ("unique([1, 2, 1.0, 'a', 'a', null, null, true, 0.5, 0.5])", r#"[1,2,"a",null,true,0.5]"#),
            ("unique([[1], [1.0], {a: 1}, {a: 1}])", r#"[[1],{"a":1}]"#),
        ],
        &[("unique(context.missing)", "[]")],
        &[("unique('aab')", "error: `unique` takes a list as list, not a string")],
    ),
    rows(
        "flatten",
        &[("flatten([1, [2, [3]], []])", "[1,2,[3]]")],
        &[("flatten(context.missing)", "[]")],
        &[("flatten({})", "error: `flatten` takes a list as list, not a map")],
    ),
    rows(
        "range",
        &[("range(3)", "[0,1,2]"), ("range(2, 5)", "[2,3,4]"), ("range(5, 2)", "[]"), ("range(-1)", "[]")],
        &[
            ("range(context.missing)", "null"),
            ("range(1, context.missing)", "error: `range` takes a number as to, not null"),
        ],
        &[
            ("range('3')", "error: `range` takes a number as n, not a string"),
            ("range(100001)", "error: more than 100000 elements in a list or map"),
            ("range(-9223372036854775808, 9223372036854775807)", "error: more than 100000 elements"),
        ],
    ),
    rows(
        "pluck",
        &[("pluck(context.items, 'id')", "[1,2,3]"), ("pluck([{a: 1}, {}, null], 'a')", "[1,null,null]")],
        &[("pluck(context.missing, 'id')", "[]")],
        &[
            ("pluck(context.map, 'a')", "error: `pluck` takes a list as list, not a map"),
            ("pluck(context.list, 'id')", "error: a number has no field `id`"),
        ],
    ),
    rows(
        "where",
        &[
            ("pluck(where(context.items, 'ok', true), 'id')", "[1,3]"),
            ("where([{a: 1}, {}], 'a', null)", "[{}]"),
        ],
        &[("where(context.missing, 'ok', true)", "[]")],
        &[
            ("where('ab', 'a', 1)", "error: `where` takes a list as list, not a string"),
            ("where(context.words, 'a', 1)", "error: a string has no field `a`"),
        ],
    ),
    rows(
        "count",
        &[("count(context.items, 'ok', true)", "2"), ("count(context.items, 'id', 9)", "0")],
        &[("count(context.missing, 'ok', true)", "0")],
        &[("count(context.items, 1, true)", "error: `count` takes a string as field, not a number")],
    ),
    rows(
        "any",
        &[
            ("any([false, true, null])", "true"),
            ("any([])", "false"),
            ("any(pluck(context.items, 'ok'))", "true"),
        ],
        &[("any(context.missing)", "false")],
        &[
            ("any(true)", "error: `any` takes a list as list, not a boolean"),
            ("any([true, 1])", "error: a condition is true, false or null, not a number"),
        ],
    ),
    rows(
        "all",
        &[("all([true, true])", "true"), ("all([true, null])", "false"), ("all([])", "true")],
        &[("all(context.missing)", "true")],
        &[("all(['x'])", "error: a condition is true, false or null, not a string")],
    ),
];

static MAPS: &[Rows] = &[
    rows(
        "keys",
        &[("keys(context.map)", r#"["a","b","in","a-b"]"#)],
        &[("keys(context.missing)", "[]")],
        &[("keys(context.list)", "error: `keys` takes a map as map, not a list")],
    ),
    rows(
        "values",
        &[("values({b: 1, a: [2]})", "[1,[2]]")],
        &[("values(context.missing)", "[]")],
        &[("values('a')", "error: `values` takes a map as map, not a string")],
    ),
    rows(
        "has",
        &[
            ("has(context.map, 'b')", "true"),
            ("has(context.map, 'z')", "false"),
            ("has(context, 'count')", "true"),
        ],
        &[
            ("has(context.missing, 'a')", "false"),
            ("has({}, context.missing)", "error: `has` takes a string as key, not null"),
        ],
        &[("has(context.list, 'a')", "error: `has` takes a map as map, not a list")],
    ),
    rows(
        "get",
        &[
            ("get(context.map, 'a', 9)", "1"),
            ("get(context.map, 'z')", "null"),
            ("get(context.map, 'z', 9)", "9"),
            ("get(context.map, 'b', 9)", "9"),
            ("get(context.list, -1)", "2"),
            ("get(context.list, 7, 'none')", r#""none""#),
        ],
        &[("get(context.missing, 'a', 9)", "9"), ("get(context.missing, 'a')", "null")],
        &[
            ("get('abc', 0)", "error: `get` takes a list or a map as x, not a string"),
            ("get(context.map, 0)", "error: the keys of a map are strings, not a number"),
        ],
    ),
    rows(
        "set",
        &[
            ("set({a: 1}, 'b', 2)", r#"{"a":1,"b":2}"#),
            ("set({a: 1, b: 2}, 'a', 3)", r#"{"a":3,"b":2}"#),
            ("set(context.list, -1, 9)", "[3,1,9]"),
        ],
        &[("set(context.missing, 'a', 1)", r#"{"a":1}"#)],
        &[
            ("set(context.list, 3, 9)", "error: `set` changes an element that is there; append() adds one"),
            ("set(context.map, 1, 2)", "error: the keys of a map are strings, not a number"),
            ("set(context.missing, 1, 2)", "error: the keys of a map are strings, not a number"),
            ("set(5, 'a', 1)", "error: `set` takes a list or a map as x, not a number"),
        ],
    ),
    rows(
        "remove",
        &[
            ("remove({a: 1, b: 2}, 'a')", r#"{"b":2}"#),
            ("remove({a: 1}, 'z')", r#"{"a":1}"#),
            ("remove(context.list, 0)", "[1,2]"),
            ("remove(context.list, 9)", "[3,1,2]"),
        ],
        &[("remove(context.missing, 'a')", "null")],
        &[
            ("remove('abc', 0)", "error: `remove` takes a list or a map as x, not a string"),
            (
                "remove(context.list, 'a')",
                "error: the elements of a list are counted by numbers, not by a string",
            ),
        ],
    ),
    rows(
        "merge",
        &[("merge({a: 1, b: {c: 1}}, {b: {d: 2}}, {e: 3})", r#"{"a":1,"b":{"d":2},"e":3}"#)],
        &[("merge(context.missing, {a: 1}, context.missing)", r#"{"a":1}"#)],
        &[("merge({}, [1])", "error: `merge` takes a map as map, not a list")],
    ),
];

static GENERAL: &[Rows] = &[
    rows(
        "default",
        &[("default(context.count, 9)", "3"), ("default(false, true)", "false")],
        &[("default(context.missing, 9)", "9"), ("default(context.missing, null)", "null")],
        &[],
    ),
    rows(
        "is_null",
        &[("is_null(0)", "false"), ("is_null('')", "false")],
        &[("is_null(context.missing)", "true")],
        &[],
    ),
    rows(
        "type",
        &[
            ("type(true)", r#""boolean""#),
            ("type(1)", r#""number""#),
            ("type(0.5)", r#""number""#),
            ("type('')", r#""string""#),
            ("type([])", r#""list""#),
            ("type({})", r#""map""#),
        ],
        &[("type(context.missing)", r#""null""#)],
        &[],
    ),
    rows(
        "string",
        &[("string('a')", r#""a""#), ("string(0.5)", r#""0.5""#), ("string([1, 'a'])", r#""[1,\"a\"]""#)],
        &[("string(context.missing)", r#""null""#)],
        &[],
    ),
    rows(
        "json",
        &[("json('a')", r#""\"a\"""#), ("json({a: [1, null]})", r#""{\"a\":[1,null]}""#)],
        &[("json(context.missing)", r#""null""#)],
        &[],
    ),
    rows(
        "parse_json",
        &[
            (r#"parse_json('{"a": [1, 2.5]}')"#, r#"{"a":[1,2.5]}"#),
            ("parse_json('no json')", "null"),
            ("parse_json(json(context.map)) == context.map", "true"),
        ],
        &[("parse_json(context.missing)", "null")],
        &[("parse_json(1)", "error: `parse_json` takes a string as text, not a number")],
    ),
];

static WORLD: &[Rows] = &[
    rows("stateIn", &[("stateIn('root')", "true"), ("stateIn('review.open')", "false")], &[], &[]),
    rows(
        "agents.select",
        &[
            ("agents.select('reviewer')", r#""ann""#),
            ("agents.select('reviewer', 'code')", r#""ann""#),
            ("agents.select('reviewer', 'docs')", r#""bob""#),
            ("agents.select('cy', 'docs')", r#""cy""#),
            ("agents.select('pilot')", "null"),
        ],
        &[
            ("agents.select(context.missing)", "null"),
            ("agents.select('writer', context.missing)", r#""bob""#),
        ],
        &[("agents.select('writer', 1)", "error: `agents.select` takes a string as task_type, not a number")],
    ),
    rows(
        "agents.get",
        &[
            ("agents.get('ann')", r#"{"id":"ann","roles":["reviewer"],"task_types":["code"],"model":"m1"}"#),
            ("agents.get('zoe')", "null"),
            ("agents.get('zoe').model", "null"),
        ],
        &[("agents.get(context.missing)", "null")],
        &[("agents.get(1)", "error: `agents.get` takes a string as id, not a number")],
    ),
    rows(
        "agents.list",
        &[
            ("agents.list()", r#"["ann","bob","cy"]"#),
            ("agents.list('reviewer')", r#"["ann","bob"]"#),
            ("agents.list('pilot')", "[]"),
        ],
        &[("agents.list(context.missing)", r#"["ann","bob","cy"]"#)],
        &[("agents.list([])", "error: `agents.list` takes a string as role, not a list")],
    ),
];

fn all_rows() -> impl Iterator<Item = &'static Rows> {
    [TEXT, NUMBERS, TIMES, LISTS, MAPS, GENERAL, WORLD].into_iter().flatten()
}

#[test]
fn ordinary_use() {
    check(&all_rows().flat_map(|rows| rows.ordinary).copied().collect::<Vec<_>>());
}

#[test]
fn missing_values() {
    check(&all_rows().flat_map(|rows| rows.missing).copied().collect::<Vec<_>>());
}

#[test]
fn type_mismatches() {
    let all: Vec<_> = all_rows().flat_map(|rows| rows.mismatch).copied().collect();
    assert!(all.iter().all(|(_, wanted)| wanted.starts_with("error: ")));
    check(&all);
}

#[test]
fn every_function_has_its_rows() {
    let tested: BTreeSet<_> = all_rows().map(|rows| rows.function).collect();
    assert_eq!(tested, function_names().collect::<BTreeSet<_>>());
    for rows in all_rows() {
        let called = |(text, _): &(&str, &str)| text.contains(&format!("{}(", rows.function));
        assert!(!rows.ordinary.is_empty() && rows.ordinary.iter().any(called), "{}", rows.function);
        assert_eq!(rows.missing.is_empty(), ["now", "stateIn"].contains(&rows.function), "{}", rows.function);
        assert_eq!(rows.mismatch.is_empty(), CANNOT_MISMATCH.contains(&rows.function), "{}", rows.function);
        assert!(rows.missing.iter().chain(rows.mismatch).all(called), "{}", rows.function);
    }
}
