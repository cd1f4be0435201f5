import { expect, test } from 'vitest'
import { compileCondition } from '../../../../schemas/fraud/rules/compile.ts'
import { describeFault, type Fault } from '../../../../schemas/fraud/rules/faults.ts'
import { formatCondition } from '../../../../schemas/fraud/rules/format.ts'
import { MAX_CONDITION_CHARACTERS, MAX_CONDITION_DEPTH, parseCondition } from '../../../../schemas/fraud/rules/parse.ts'

function canonical(text: string): string {
  const parsed = parseCondition(text)
  return parsed.ok ? formatCondition(parsed.node) : describeFault(parsed.fault)
}

function faultsOf(text: string): readonly Fault[] {
  const compiled = compileCondition(text)
  return compiled.ok ? [] : compiled.faults
}

test.each([
  ['txn.amount>1', 'txn.amount > 1'],
  ['txn.amount == 1', 'txn.amount = 1'],
  ['txn.amount <> 1', 'txn.amount != 1'],
  ['a AND b and c', 'a AND b AND c'],
  ['(a AND b) AND c', '(a AND b) AND c'],
  ['a OR b AND c', 'a OR b AND c'],
  ['(a OR b) AND c', '(a OR b) AND c'],
  ['NOT a AND b', 'NOT a AND b'],
  ['not (a and b)', 'NOT (a AND b)'],
  ['NOT a = 1', 'NOT a = 1'],
  ['(NOT a) = TRUE', '(NOT a) = TRUE'],
  ['a is missing', 'a IS MISSING'],
  ['a Is Not Missing', 'a IS NOT MISSING'],
  ['a not in (1,2)', 'a NOT IN (1, 2)'],
  ['a between 1 and 2 and b', 'a BETWEEN 1 AND 2 AND b'],
  ['a NOT BETWEEN 1+1 AND 2*2', 'a NOT BETWEEN 1 + 1 AND 2 * 2'],
  ['1-2-3 = 0', '1 - 2 - 3 = 0'],
  ['1-(2-3) = 0', '1 - (2 - 3) = 0'],
  ['(1+2)*3 = 9', '(1 + 2) * 3 = 9'],
  ['-a*b > --1', '-a * b > --1'],
  ['-(a+b) > 1', '-(a + b) > 1'],
  ['((((a))))', 'a'],
  ['f( a , 1 )', 'f(a, 1)'],
  ['a =\n\t1', 'a = 1'],
  ['a = "it\'s"', "a = 'it\\'s'"],
  ['a = "x\\u0041\\n"', "a = 'xA\\n'"],
  ['a = 1e3', 'a = 1000'],
  ['a = 1.50', 'a = 1.5'],
  ['true OR False', 'TRUE OR FALSE'],
])('%j has the canonical form %j', (text, expected) => {
  expect(canonical(text)).toBe(expected)
})

test.each([
  ['', 'line 1, column 1: Expected NOT, a field, a number, a string, a function, TRUE, FALSE, "-" or "(", found the end of the condition.'],
  ['txn.amonut > 1', 'line 1, column 1: There is no field "txn.amonut". Did you mean "txn.amount"?'],
  ['Txn.Amount > 1', 'line 1, column 1: There is no field "Txn.Amount". Did you mean "txn.amount"?'],
  ['payer.country = DE', 'line 1, column 17: There is no field "DE". Strings need quotes: \'DE\'.'],
  [
    'txn.amount >',
    'line 1, column 13: Expected a field, a number, a string, a function, TRUE, FALSE, "-" or "(", found the end of the condition.',
  ],
  ['txn.amount > 1 )', 'line 1, column 16: Expected AND, OR or the end of the condition, found ")".'],
  ['txn.amount > 1 adn ip.is_tor', 'line 1, column 16: Expected AND, OR or the end of the condition, found "adn". Did you mean "AND"?'],
  ['(txn.amount > 1', 'line 1, column 16: Expected ")", found the end of the condition.'],
  [
    '1 < txn.amount < 9',
    'line 1, column 16: Expected AND, OR or the end of the condition, found "<". Comparisons cannot be chained: use BETWEEN, or AND.',
  ],
  ['txn.amount IN ()', 'line 1, column 16: Expected a field, a number, a string, a function, TRUE, FALSE, "-" or "(", found ")".'],
  ['txn.amount IN 1', 'line 1, column 15: Expected "(", found the number 1.'],
  ['txn.amount BETWEEN 1 OR 2', 'line 1, column 22: Expected AND, found "OR".'],
  ['txn.amount IS 1', 'line 1, column 15: Expected MISSING or NOT MISSING, found the number 1.'],
  ['txn.amount NOT 1', 'line 1, column 16: Expected IN or BETWEEN, found the number 1.'],
  ['txn.amount > 1 && ip.is_tor', 'line 1, column 16: The character "&" means nothing here: write AND.'],
  ['!ip.is_tor', 'line 1, column 1: The character "!" means nothing here: write NOT, or != for "not equal".'],
  [
    "payer.user_id ~ 'a.*'",
    'line 1, column 15: The character "~" means nothing here: use contains, startsWith or endsWith instead of a regular expression.',
  ],
  ['txn.amount > 1_000', 'line 1, column 14: "1_000" is not a number.'],
  ['txn.amount > 1.', 'line 1, column 14: "1." is not a number.'],
  [
    'txn.amount > .5',
    'line 1, column 14: The character "." means nothing here: a number begins with a digit, and a name with a letter or underscore.',
  ],
  ['txn.amount > 1e999', 'line 1, column 14: The number is too large.'],
  ["payer.user_id = 'a", 'line 1, column 17: The closing quote of the string is missing.'],
  ["payer.user_id = 'a\nb'", 'line 1, column 19: The string has a line break or control character.'],
  ["payer.user_id = 'a\\qb'", 'line 1, column 19: The escape is unknown.'],
  ["payer.user_id = '\\ud800'", 'line 1, column 17: The string has half of a surrogate pair.'],
  ["payer.user_id = '😀' AND\n txn.x > 1", 'line 2, column 2: There is no field "txn.x".'],
  ["payer.user_id = '😀😀' AND foo", 'line 1, column 26: There is no field "foo". Strings need quotes: \'foo\'.'],
  ['ip.is_tor AND\r\n\r\ntxn.amonut > 1', 'line 3, column 1: There is no field "txn.amonut". Did you mean "txn.amount"?'],
  ['txn.amount', 'line 1, column 1: Expected a condition (true or false), found a number.'],
  ['txn.amount AND ip.is_tor', 'line 1, column 1: Expected a condition (true or false), found a number.'],
  ['txn.amount > ip.is_tor', 'line 1, column 14: Expected a number, found a condition (true or false).'],
  ["txn.amount = '5'", 'line 1, column 14: Expected a number, found a string.'],
  ["payer.user_id > 'a'", 'line 1, column 1: Expected a number, found a string. line 1, column 17: Expected a number, found a string.'],
  ['payer.user_id + 1 = 2', 'line 1, column 1: Expected a number, found a string.'],
  ['NOT txn.amount', 'line 1, column 5: Expected a condition (true or false), found a number.'],
  ["txn.amount IN (1, 'a')", 'line 1, column 19: Expected a number, found a string.'],
  ["payer.country = 'Germany'", "line 1, column 17: Expected a country code of two capital letters, such as 'DE', found 'Germany'."],
  [
    "payer.country IN ('DE', 'us')",
    "line 1, column 25: Expected a country code of two capital letters, such as 'DE', found 'us'. Did you mean \"US\"?",
  ],
  [
    "'usd' = txn.currency",
    "line 1, column 1: Expected a currency code of three capital letters, such as 'USD', found 'usd'. Did you mean \"USD\"?",
  ],
  ['payer.country = txn.currency', 'line 1, column 17: Expected a country, found a currency.'],
  ["user.risk_tier = 'high'", "line 1, column 18: Expected 'NORMAL', 'ELEVATED' or 'HIGH', found 'high'. Did you mean \"HIGH\"?"],
  [
    "device.ip_address = '10.0.0.0/8'",
    "line 1, column 21: Expected an IP address, such as '192.0.2.1' (for a network, use a list of its addresses), found '10.0.0.0/8'.",
  ],
  [
    "device.ip_address = '2001:DB8:0::1'",
    'line 1, column 21: Expected the canonical form of the IP address, found \'2001:DB8:0::1\'. Did you mean "2001:db8::1"?',
  ],
  ['lenght(payer.user_id) > 1', 'line 1, column 1: There is no function "lenght".'],
  ["startswith(payer.user_id, 'a')", 'line 1, column 1: There is no function "startswith". Did you mean "startsWith"?'],
  ['abs() > 1', 'line 1, column 1: abs takes one argument, found 0.'],
  [
    "contains(payer.user_id) AND contains('a', 'b', 'c')",
    'line 1, column 1: contains takes 2 arguments, found 1. line 1, column 29: contains takes 2 arguments, found 3.',
  ],
  ["lower(txn.amount) = 'a'", 'line 1, column 7: Expected a string, found a number.'],
  [
    'inList(payer.user_id, payer.user_id)',
    'line 1, column 8: Expected the name of a list, such as \'trusted_banks\'. A name has at most 50 characters: letters, digits, "_", "." and "-".',
  ],
  [
    'ml_scores.payment_fraud > 0.5',
    'line 1, column 1: "ml_scores.payment_fraud" is not a field: rules cannot read model scores, because models run at the same time as rules.',
  ],
  ['__proto__ > 1', 'line 1, column 1: There is no field "__proto__". Strings need quotes: \'__proto__\'.'],
  ['constructor.name > 1', 'line 1, column 1: There is no field "constructor.name".'],
  ['toString(1) = 1', 'line 1, column 1: There is no function "toString".'],
])('%j is refused with the position and the reason', (text, expected) => {
  expect(faultsOf(text).map(describeFault).join(' ')).toBe(expected)
})

test('a fault contains its code, its offsets, what was expected, and the nearest name', () => {
  expect(faultsOf('1 = 1 AND txn.amonut > 1')).toEqual([
    {
      code: 'unknown_field',
      message: 'There is no field "txn.amonut".',
      line: 1,
      column: 11,
      start: 10,
      end: 20,
      expected: ['a field'],
      nearest: 'txn.amount',
    },
  ])
})

test('where a value is missing, `expected` lists every form of a value, and also lists NOT if a condition may begin there', () => {
  const [start, operand] = ['', 'ip.is_tor = '].map((text) => faultsOf(text)[0].expected)
  expect(start).toEqual(['NOT', ...operand])
  for (const word of ['TRUE', 'FALSE', '"-"', '"("']) expect(operand).toContain(word)
  for (const text of ['TRUE', 'FALSE', 'NOT ip.is_tor', '(ip.is_tor)', '-1 < 2', 'ip.is_tor = TRUE']) expect(faultsOf(text)).toEqual([])
})

test('for an invalid character, `expected` says what would be valid, without the advice in the message', () => {
  for (const text of ['&', '!ip.is_tor', 'txn.amount > 1;'])
    expect(faultsOf(text)[0].expected).toEqual(['a field, a number, a string or an operator'])
})

test('all name faults and type faults are reported together, in their order in the text', () => {
  const faults = faultsOf("payer.contry = 'DE' OR txn.amount = 'a' OR foo(1)")
  expect(faults.map(({ column, code }) => [column, code])).toEqual([
    [1, 'unknown_field'],
    [37, 'wrong_type'],
    [44, 'unknown_function'],
  ])
})

test('at most 20 faults are reported', () => {
  expect(faultsOf(`foo${' OR foo'.repeat(50)}`)).toHaveLength(20)
})

test(`a condition has at most ${MAX_CONDITION_CHARACTERS} characters, counted as code points`, () => {
  const quoted = (length: number, character: string) => `payer.user_id = '${character.repeat(length)}'`
  const room = MAX_CONDITION_CHARACTERS - quoted(0, '').length
  expect(faultsOf(quoted(room, 'a'))).toEqual([])
  expect(faultsOf(quoted(room, '😀'))).toEqual([])
  expect(faultsOf(quoted(room + 1, 'a'))).toMatchObject([{ code: 'too_long', line: 1, column: 1 }])
  expect(faultsOf(quoted(room + 1, '😀'))).toMatchObject([{ code: 'too_long' }])
})

test.each([
  ['parentheses', (depth: number) => `${'('.repeat(depth)}ip.is_tor${')'.repeat(depth)}`, MAX_CONDITION_DEPTH],
  ['NOT', (depth: number) => `${'NOT '.repeat(depth - 1)}ip.is_tor`, MAX_CONDITION_DEPTH],
  ['minus', (depth: number) => `${'-'.repeat(depth - 2)}txn.amount > 1`, MAX_CONDITION_DEPTH],
  ['a sum', (depth: number) => `txn.amount${' + 1'.repeat(depth - 2)} > 1`, MAX_CONDITION_DEPTH],
])('%s may be nested 32 levels deep, but no deeper', (_, text, depth) => {
  expect(faultsOf(text(depth))).toEqual([])
  expect(faultsOf(text(depth + 1))).toMatchObject([{ code: 'too_deep', line: 1 }])
})

test('a chain of AND or OR counts as one level, however long it is', () => {
  expect(faultsOf(`ip.is_tor${' OR ip.is_tor AND ip.is_vpn'.repeat(100)}`)).toEqual([])
})
