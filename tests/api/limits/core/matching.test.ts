import keySlot from 'cluster-key-slot'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { LimitedCaller } from '../../../../api/kit/limited-caller.ts'
import { parsePattern } from '../../../../api/limits/core/endpoint-pattern.ts'
import { compileRules } from '../../../../api/limits/core/matching.ts'
import { compileRule } from '../../../../api/limits/core/rule.ts'
import { type GivenRule, ruleOf } from '../../../../schemas/limit-rule.ts'
import type { LimitRule } from '../../../../schemas/limits/types.ts'

const ANONYMOUS: LimitedCaller = { clientId: 'ip:192.0.2.1', tier: 'free', ip: '192.0.2.1' }
const USER: LimitedCaller = { clientId: 'user:42', tier: 'free', userId: '42', ip: '192.0.2.1' }
const PRO: LimitedCaller = { clientId: 'acme', tier: 'pro', apiKeyId: 'k1', ip: '192.0.2.1' }

function rule(rule_id: string, endpoint_pattern: string, rest: Partial<GivenRule> = {}): LimitRule {
  return ruleOf({ rule_id, endpoint_pattern, limit_count: 10, window_seconds: 60, ...rest })
}

function matched(rules: readonly LimitRule[], request: string, caller: LimitedCaller = PRO): string[] {
  const [method, path] = request.split(' ')
  return compileRules(rules)
    .match(method, path, caller)
    .map((found) => found.rule.rule_id)
}

describe('the most specific rule wins', () => {
  const global = rule('global', '*')
  const root = rule('root', '/*')
  const prefix = rule('prefix', '/a/*')
  const longer = rule('longer', '/a/b/*')
  const exact = rule('exact', '/a/b/c')
  test.each([
    ['exact before prefix before global', [global, prefix, longer, exact], 'GET /a/b/c', 'exact'],
    ['the longest prefix', [global, prefix, longer, exact], 'GET /a/b/d', 'longer'],
    ['a shorter prefix if no longer one matches', [global, prefix, longer, exact], 'GET /a/x', 'prefix'],
    ['a prefix at any depth below it', [global, prefix], 'GET /a/x/y/z', 'prefix'],
    ['a prefix does not match its own path without a further segment', [global, prefix], 'GET /a', 'global'],
    ['a prefix does not match part of a segment', [global, prefix], 'GET /ab/c', 'global'],
    ['the root prefix before global', [global, root], 'GET /x', 'root'],
    ['global if nothing else matches', [global, prefix, longer, exact], 'GET /x', 'global'],
    ['a path is case-sensitive', [global, exact], 'GET /A/b/c', 'global'],
    ['an exact path does not match a longer path', [global, exact], 'GET /a/b/c/', 'global'],
    ['pattern before tier', [rule('tier', '/a/*', { tier: 'pro' }), exact], 'GET /a/b/c', 'exact'],
    ['pattern before method', [rule('method', 'GET /a/*'), exact], 'GET /a/b/c', 'exact'],
    ['tier before *', [rule('any', '/a/*', { created_at: 9 }), rule('tier', '/a/*', { tier: 'pro' })], 'GET /a/b', 'tier'],
    ['tier before method', [rule('method', 'GET /a/*'), rule('tier', '/a/*', { tier: 'pro' })], 'GET /a/b', 'tier'],
    ['a method before no method', [rule('any', '/a/*', { created_at: 9 }), rule('method', 'GET /a/*')], 'GET /a/b', 'method'],
    ['the newest', [rule('old', '/a/*', { created_at: 1 }), rule('new', '/a/*', { created_at: 2 })], 'GET /a/b', 'new'],
    ['another tier does not match', [global, rule('tier', '/a/b/c', { tier: 'free' })], 'GET /a/b/c', 'global'],
    ['another method does not match', [global, rule('method', 'POST /a/b/c')], 'GET /a/b/c', 'global'],
    ['a global pattern with a method before one without', [rule('post', 'POST *'), global], 'POST /x', 'post'],
    ['an inactive rule does not match', [global, { ...exact, is_active: false }], 'GET /a/b/c', 'global'],
  ])('%s', (_what, rules, request, expected) => {
    expect(matched(rules, request)).toEqual([expected])
    expect(matched([...rules].reverse(), request)).toEqual([expected])
  })

  test('no rule applies if none matches', () => {
    expect(matched([prefix], 'GET /b')).toEqual([])
    expect(matched([], 'GET /b')).toEqual([])
  })
})

describe('keys', () => {
  test('for each key, only the most specific rule applies', () => {
    const rules = [
      rule('client', '*'),
      rule('client-a', '/a/*'),
      rule('all', '*', { key: ['endpoint'] }),
      rule('pair', '/a/*', { key: ['ip', 'client'] }),
      rule('pair-too', '*', { key: ['client', 'ip'] }),
    ]
    expect(matched(rules, 'GET /a/b').sort()).toEqual(['all', 'client-a', 'pair'])
    expect(matched(rules, 'GET /x').sort()).toEqual(['all', 'client', 'pair-too'])
  })

  test.each([
    ['ip', [ANONYMOUS]],
    ['user', [USER]],
    ['api_key', [PRO]],
    ['client', [ANONYMOUS, USER, PRO]],
    ['endpoint', [ANONYMOUS, USER, PRO]],
  ] as const)('a rule with the key %s applies only to the documented callers', (part, callers) => {
    const found = [ANONYMOUS, USER, PRO].filter((caller) => matched([rule('one', '*', { key: [part] })], 'GET /', caller).length > 0)
    expect(found).toEqual(callers)
  })
})

test.each([
  ['/a', 'exact'],
  ['POST /a', 'exact'],
  ['/a/*', 'prefix'],
  ['/*', 'prefix'],
  ['*', 'global'],
  ['DELETE *', 'global'],
  ['M-SEARCH /a', 'exact'],
  ['UNSUBSCRIBE /a/*', 'prefix'],
])('%s is a valid pattern', (text, kind) => {
  expect(parsePattern(text)?.kind).toBe(kind)
})

test.each(['', 'a', '/a*', '/a/*/b', 'get /a', 'GET  /a', '/a?b', '/a b', '**', 'GET'])('%j is not a valid pattern', (text) => {
  expect(parsePattern(text)).toBeUndefined()
})

/** Finds the rule by sorting all matching rules by the documented precedence. */
function reference(rules: readonly LimitRule[], method: string, path: string, tier: string): string | undefined {
  const rank = ({ endpoint_pattern, tier: own, created_at, rule_id }: LimitRule): [number, number, number, number, string] => {
    const [pattern, named] = endpoint_pattern.split(' ').reverse()
    const kind = pattern === '*' ? -1 : pattern.endsWith('/*') ? pattern.length : 1_000
    return [kind, own === '*' ? 0 : 1, named === undefined ? 0 : 1, created_at, rule_id]
  }
  const matching = rules.filter(({ endpoint_pattern, tier: own }) => {
    const [pattern, named] = endpoint_pattern.split(' ').reverse()
    const fits = pattern === '*' || (pattern.endsWith('/*') ? path.startsWith(pattern.slice(0, -1)) : path === pattern)
    return fits && (own === '*' || own === tier) && (named === undefined || named === method)
  })
  matching.sort((one, other) => {
    const [a, b] = [rank(one), rank(other)]
    const at = a.findIndex((value, index) => value !== b[index])
    return at < 0 ? 0 : at === 4 ? (a[4] < b[4] ? -1 : 1) : (b[at] as number) - (a[at] as number)
  })
  return matching[0]?.rule_id
}

test('the lookup finds the same rule as sorting all matching rules', () => {
  const segment = fc.constantFrom('a', 'b')
  const path = fc.array(segment, { minLength: 1, maxLength: 4 }).map((parts) => `/${parts.join('/')}`)
  const pattern = fc.oneof(
    path,
    path.map((one) => `${one}/*`),
    fc.constantFrom('*', '/*'),
  )
  const method = fc.constantFrom('GET', 'POST')
  const tier = fc.constantFrom('free', 'pro')
  const given = fc.record({
    pattern,
    method: fc.option(method, { nil: undefined }),
    tier: fc.oneof(tier, fc.constant('*')),
    created_at: fc.nat(3),
  })
  fc.assert(
    fc.property(fc.array(given, { maxLength: 12 }), method, path, tier, (all, asked, at, of) => {
      const rules = all.map((one, index) =>
        rule(`r${index}`, one.method === undefined ? one.pattern : `${one.method} ${one.pattern}`, {
          tier: one.tier,
          created_at: one.created_at,
        }),
      )
      const [found] = compileRules(rules).match(asked, at, { ...PRO, tier: of })
      expect(found?.rule.rule_id).toBe(reference(rules, asked, at, of))
    }),
    { numRuns: 500 },
  )
})

test('the key of a counter is in the hash slot of its tag, even if the id of the caller is empty or contains braces', () => {
  const ids = fc.oneof(fc.constantFrom('', '{', '}', '{}', 'a}b', '{a'), fc.string({ unit: 'grapheme' }))
  fc.assert(
    fc.property(ids, (clientId) => {
      const { key, tag } = compileRule(rule('r', '*')).counterFor({ ...PRO, clientId })
      expect(keySlot(key)).toBe(keySlot(tag))
    }),
  )
})

test('a set of 150,000 rules with different prefixes can be compiled and matched', () => {
  const rules = Array.from({ length: 150_000 }, (_, at) => rule(`r${at}`, `/a/${at}/*`))
  expect(matched(rules, 'GET /a/149999/x')).toEqual(['r149999'])
})
