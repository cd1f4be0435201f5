import { compileRules } from '../../api/limits/core/matching.ts'
import { ruleOf } from '../../schemas/limit-rule.ts'

const RULES = [10, 100, 1_000, 10_000]
const LOOKUPS = 2_000_000
const NS_PER_MS = 1e6
const TIERS = ['free', 'pro', 'enterprise', '*']

/** Measures how long it takes to compile rules, and to find the rules that apply to a request. */
export function matchingTable(say: (text: string) => void): void {
  say('\n### Rules\n\n| rules | compiled in ms | ns per lookup |\n|---|---|---|')
  const caller = { clientId: 'acme', tier: 'pro', apiKeyId: 'k', ip: '192.0.2.1' }
  const paths = Array.from({ length: 64 }, (_, index) => `/api/v1/area-${index % 8}/thing-${index}/part/${index}`)
  for (const count of RULES) {
    const rules = Array.from({ length: count }, (_, index) =>
      ruleOf({
        rule_id: `r${index}`,
        tier: TIERS[index % TIERS.length],
        endpoint_pattern: [`/api/v1/area-${index % 8}/thing-${index}/*`, `/api/v1/area-${index % 8}/*`, `GET /exact/${index}`][index % 3],
        limit_count: 10,
        window_seconds: 60,
        created_at: index,
      }),
    )
    const began = performance.now()
    const table = compileRules(rules)
    const compiled = performance.now() - began
    let found = 0
    for (let lookup = 0; lookup < LOOKUPS / 10; lookup++) found += table.match('GET', paths[lookup % paths.length], caller).length
    const started = performance.now()
    for (let lookup = 0; lookup < LOOKUPS; lookup++) found += table.match('GET', paths[lookup % paths.length], caller).length
    const each = ((performance.now() - started) * NS_PER_MS) / LOOKUPS
    say(`| ${count.toLocaleString('en')} | ${compiled.toFixed(1)} | ${found > 0 ? each.toFixed(0) : '–'} |`)
  }
}
