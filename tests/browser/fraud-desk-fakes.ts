import type { Request } from 'playwright-core'
import { compileCondition } from '../../schemas/fraud/rules/compile.ts'
import { FIELDS } from '../../schemas/fraud/rules/fields.ts'

export const HOSTILE = '<img src=x onerror=alert(1)>"\'&amp;\u202e'

export interface FakeAnswer {
  readonly status?: number
  readonly body?: unknown
}

/**
 * A recorded request that is neither a GET nor a validation: one line with method and path, its body, its CSRF token
 * and its Idempotency-Key.
 */
export interface Change {
  readonly line: string
  readonly body: Record<string, unknown>
  readonly csrf: string | undefined
  readonly key: string | undefined
}

const MINUTE_MS = 60_000
const iso = (minutesAgo: number) => new Date(Date.now() - minutesAgo * MINUTE_MS).toISOString()

function caseOf(index: number, more: object = {}) {
  return {
    case_id: `9007199254740993${index}`,
    transaction_id: `t-${index}`,
    user_id: index === 2 ? HOSTILE : `user-${index}`,
    risk_score: 910 - index * 100,
    decision: 'REVIEW',
    assigned_to: null as string | null,
    status: 'OPEN',
    fraud_type: null,
    notes: '',
    created_at: iso(index * 7),
    updated_at: iso(index * 7),
    resolved_at: null,
    verdict: null as string | null,
    triggered_rules: index === 2 ? [HOSTILE] : ['seed-impossible-travel', 'seed-zscore-3'],
    risk_factors: [
      { factor: 'geo_distance_km', contribution: 0.42 },
      { factor: 'amount_zscore', contribution: 0.31 },
      { factor: 'is_new_device', contribution: 0.2 },
      { factor: 'session_risk_score', contribution: 0.08 },
      { factor: 'merchant_fraud_rate_30d', contribution: -0.05 },
    ],
    amount: 1249.9 / index,
    currency: 'EUR',
    version: 1,
    ...more,
  }
}

const FEATURES = { user_velocity_1h: 3, amount_zscore: 4.2, geo_distance_km: 6385, is_new_device: true, device_age_days: null }

function transactionOf(index: number) {
  const one = caseOf(index)
  return {
    transaction_id: one.transaction_id,
    request: {
      transaction_id: one.transaction_id,
      timestamp: iso(index * 7),
      amount: one.amount,
      currency: 'EUR',
      transaction_type: 'PURCHASE',
      payer: { user_id: one.user_id, email_hash: '5f1c', phone_hash: null, account_age_days: 412, country: 'DE' },
      payee: { merchant_id: 'm-77', merchant_category: 'electronics', merchant_country: 'US' },
      payment_instrument: { type: 'CREDIT_CARD', card_hash: 'c-1f0b', issuer_bank: 'Bank', bin_country: 'DE' },
      device: { fingerprint_id: 'd-9', ip_address: '203.0.113.9', user_agent: 'Mozilla/5.0', lat: 40.71, lng: -74.01 },
      session: { session_id: 's-1', login_method: 'password', time_since_login_sec: 12 },
    },
    ip: { geo_country: 'US', is_vpn: false, is_tor: null, is_datacenter: true },
    // Transaction 3 represents old transactions, whose features have been deleted.
    features: index === 3 ? null : FEATURES,
    answer: {
      transaction_id: one.transaction_id,
      decision: 'REVIEW',
      risk_score: one.risk_score,
      risk_level: 'HIGH',
      triggered_rules: one.triggered_rules,
      ml_scores: { account_takeover: 0.81, payment_fraud: 0.44, money_laundering: 0.02, evaluated: true },
      requires_3ds: false,
      request_id: 'r',
      reason: 'rule',
      risk_factors: one.risk_factors,
      degraded: index === 3 ? ['models'] : [],
      ruleset_version: 7,
      policy_version: 1,
      model_versions: { payment_fraud: '1' },
    },
    shadow_rules: [],
    scored_at: iso(index * 7),
    feedback: null,
  }
}

const PROFILE = {
  user_id: 'user-1',
  lifetime_txn_count: 118,
  lifetime_txn_sum: 5210.4,
  avg_txn_amount: 44.16,
  txn_count_1h: 3,
  distinct_devices_7d: 2,
  risk_tier: 'NORMAL',
  fraud_history_count: 0,
  last_txn_ts: iso(100),
  last_txn_geo: { lat: 52.52, lng: 13.4 },
}

const other = (minutesAgo: number, amount: number, geo_location: object | null) => ({
  transaction_id: `t-before-${minutesAgo}`,
  timestamp: iso(minutesAgo),
  amount,
  currency: 'EUR',
  amount_usd: amount * 1.1,
  merchant_id: minutesAgo === 400 ? HOSTILE : 'm-3',
  fingerprint_id: 'd-1',
  ip_address: null,
  geo_location,
  decision: 'APPROVE',
  risk_score: 12,
})
const OTHERS = [other(100, 23.5, { lat: 52.52, lng: 13.4 }), other(400, 12, { lat: 50.11, lng: 8.68 }), other(3_000, 61.2, null)]

function isMatch(request: Request, updatedAt: string): boolean {
  return request.headers()['if-match'] === `"${Date.parse(updatedAt)}"`
}

function ruleOf(rule_id: string, more: object = {}) {
  const times = { created_at: iso(9_000), updated_at: iso(9_000), expires_at: null as string | null, created_by: 'seed' }
  const fields = { name: `Rule ${rule_id}`, condition: 'txn.amount > 100', action: 'REVIEW', priority: 10, enabled: true, mode: 'live' }
  return { rule_id, ...fields, ...times, ...more }
}

const cell = (decision: string, label: string, count: number) => ({ decision, label, count, examples: count > 0 ? ['t-1'] : [] })

const REPORT = {
  transactions: 100_000,
  changed: 41,
  would_be: { approve: 99_300, review: 420, block: 280, requires_3ds: 90, review_rate: 0.0042, block_rate: 0.0028 },
  logged: { approve: 99_341, review: 379, block: 280, requires_3ds: 90, review_rate: 0.00379, block_rate: 0.0028 },
  confusion: ['APPROVE', 'REVIEW', 'BLOCK'].flatMap((decision, index) => [
    cell(decision, 'fraud', index * 70),
    cell(decision, 'legitimate', 100 - index * 40),
    cell(decision, 'unlabelled', 99_000 - index * 49_000),
  ]),
  quality: {
    review_or_block: { recall: 0.93, precision: 0.7, false_positive_rate: 0.004 },
    block: { recall: 0.5, precision: null, false_positive_rate: 0.001 },
  },
  changes: [{ logged: 'APPROVE', would_be: 'REVIEW', count: 41, examples: ['t-1', HOSTILE] }],
  set_aside: [],
}

const steps = Array.from({ length: 21 }, (_, index) => index / 20)
const MODEL_REPORT = {
  models: [
    {
      ...{ name: 'payment_fraud', version: '2026-01', transactions: 12_000, frauds: 310 },
      ...{ auc: 0.972, average_precision: 0.81, recall_at_1pct_fpr: 0.83 },
      roc: steps.map((fpr) => ({ fpr, tpr: fpr ** 0.15 })),
      pr: steps.map((recall) => ({ recall, precision: 1 - recall ** 4 * 0.8 })),
      calibration: steps.map((predicted) => ({ predicted, observed: predicted ** 1.3, count: 600 })),
      drift: [
        { feature: 'amount_zscore', psi: 0.31 },
        { feature: 'user_velocity_1h', psi: 0.02 },
        { feature: HOSTILE, psi: 0.11 },
        { feature: 'card_age_days', psi: null },
      ],
    },
  ],
}

const NO_COUNTS = { evaluated: 0, matched: 0, decided: 0, snoozed: 0, failed: 0, skipped: 0, missing: 0, missing_by: {} }
const STATS = {
  since: iso(7 * 24 * 60),
  until: iso(0),
  live: {
    ...NO_COUNTS,
    evaluated: 3_000,
    matched: 7,
    decided: 5,
    missing: 90,
    missing_by: { 'payer.account_age_days': 60, [HOSTILE]: 30 },
  },
  shadow: { ...NO_COUNTS, evaluated: 1_000, missing: 10, missing_by: { 'payer.account_age_days': 10 } },
  hourly: [],
}
/** Statistics of a rule that reads a field that no request contains. */
const SILENT = { ...STATS, live: NO_COUNTS, shadow: { ...NO_COUNTS, evaluated: 40, missing: 40, missing_by: { 'txn.age': 40 } } }

const VERSIONS = [7, 6, 5].map((version) => ({
  version,
  changed_by: version === 6 ? HOSTILE : 'ann',
  at: iso((8 - version) * 60),
  action: version === 5 ? 'seed' : 'update_rule',
  rule_id: version === 5 ? null : 'night',
  rules: version,
}))

const CHAMPION = { payment_fraud: '2026-01', account_takeover: '2026-01', money_laundering: '2026-01' }
const modelFile = (version: string) => ({ name: 'payment_fraud', version, sha256: 'f0', trained_on: 'generated data', shipped: false })

/** A fake of the fraud scoring API, with the condition language of the real API. */
export function deskFakes() {
  const cases = [1, 2, 3].map((index) => caseOf(index))
  const rules = [
    ruleOf('seed-impossible-travel', { action: 'BLOCK', priority: 1 }),
    ruleOf('night', { mode: 'shadow' }),
    ruleOf('old', { enabled: false }),
  ]
  const entry = { actor: 'ann', status: 'OPEN', assigned_to: null, verdict: null, fraud_type: null, notes: '', evidence: [] }
  const history: object[] = [{ ...entry, at: iso(6), action: 'opened', actor: null }]
  const changes: Change[] = []
  let polls = 0
  let snoozes: { snooze_id: string; entity_value: string }[] = []
  const models = {
    champion: CHAMPION,
    challenger: { versions: { payment_fraud: '2026-02' }, since: iso(8 * 24 * 60), days: 8 } as object | null,
    policy: {},
    available: ['2026-01', '2026-02', '2026-03'].map(modelFile),
  }
  /** Responses that override the default ones, keyed by method and path. */
  const replaced = new Map<string, FakeAnswer>()

  function find(id: string) {
    return cases.find(({ case_id }) => case_id === id)
  }

  function answer(request: Request): FakeAnswer {
    const url = new URL(request.url())
    const path = decodeURIComponent(url.pathname.slice('/api/v1/'.length))
    const line = `${request.method()} ${path}`
    const body = (request.postDataJSON() ?? {}) as Record<string, unknown>
    const headers = request.headers()
    if (request.method() !== 'GET' && path !== 'rules/validate')
      changes.push({ line, body, csrf: headers['x-csrf-token'], key: headers['idempotency-key'] })
    const changed = rules.find(({ rule_id, updated_at }) => line === `PUT rules/${rule_id}` && !isMatch(request, updated_at))
    return changed === undefined ? (replaced.get(line) ?? answerTo(line, body, url.searchParams)) : refusal(409, 'version_conflict')
  }

  function answerTo(line: string, body: Record<string, unknown>, query: URLSearchParams): FakeAnswer {
    const [method, path] = line.split(' ', 2)
    const [kind, id] = path.split('/')
    if (line === 'GET cases') {
      const found = cases.filter(({ status, assigned_to }) => is(query, 'status', status) && is(query, 'assigned_to', assigned_to))
      return { body: { cases: found, page: 1, limit: 20, total: found.length } }
    }
    if (kind === 'cases') {
      const found = find(id)
      if (found === undefined) return refusal(404, 'case_not_found')
      if (method !== 'PATCH') return { body: { ...found, history } }
      const { version = found.version } = body
      if (version !== found.version) return refusal(409, 'version_conflict')
      Object.assign(found, body, { version: found.version + 1 })
      history.push({
        ...entry,
        at: iso(0),
        action: 'changed',
        status: found.status,
        assigned_to: found.assigned_to,
        notes: body.notes ?? '',
      })
      return { body: found }
    }
    if (path.endsWith('/feedback')) return feedback(id, body)
    if (line === 'GET transactions') return { body: { transactions: OTHERS } }
    if (kind === 'transactions')
      return /^t-\d$/.test(id) ? { body: transactionOf(Number(id.slice(2))) } : refusal(404, 'transaction_not_found')
    if (kind === 'profiles') return { body: PROFILE }
    if (kind === 'rules') return answerAboutRules(line, body, query)
    if (line === 'GET models') return { body: models }
    if (method === 'POST' && kind === 'models') return changeModels(id, body)
    if (line === 'GET models/report') return { body: MODEL_REPORT }
    return refusal(404, 'not_found')
  }

  function feedback(transactionId: string, body: Record<string, unknown>): FakeAnswer {
    const found = cases.find(({ transaction_id }) => transaction_id === transactionId) ?? openedCase(transactionId)
    const verdict = String(body.verdict)
    const { version = found.version } = body
    if (version !== found.version) return refusal(409, 'version_conflict')
    const status = verdict === 'SUSPICIOUS' ? 'ESCALATED' : verdict
    Object.assign(found, { verdict, status, version: found.version + 1 })
    history.push({ ...entry, at: iso(0), action: 'verdict', verdict, notes: String(body.notes ?? '') })
    return { body: { status: 'recorded', case_id: found.case_id, version: found.version } }
  }

  function openedCase(transactionId: string) {
    const made = caseOf(Number(transactionId.slice('t-'.length)))
    cases.push(made)
    return made
  }

  /** Gives a verdict as another analyst. */
  function correctAsBob(found: (typeof cases)[number], verdict: string) {
    Object.assign(found, { verdict, status: verdict, version: found.version + 1 })
    history.push({ ...entry, at: iso(0), actor: 'bob', action: 'verdict', verdict, notes: '' })
  }

  function changeModels(change: string, { versions }: Record<string, unknown>): FakeAnswer {
    if (change === 'rollback') return refusal(409, 'no_previous_models')
    if (change === 'promote') Object.assign(models, { champion: { ...CHAMPION, payment_fraud: '2026-02' }, challenger: null })
    else models.challenger = versions === null ? null : { versions, since: iso(0), days: 0 }
    return { body: models }
  }

  function answerAboutSnoozes(method: string, path: string, body: Record<string, unknown>): FakeAnswer {
    if (method === 'GET') return { body: { snoozes, page: 1, limit: 100, total: snoozes.length } }
    if (method === 'DELETE') {
      snoozes = snoozes.filter(({ snooze_id }) => !path.endsWith(snooze_id))
      return { status: 204 }
    }
    const created = { reason: null, ...body, entity_value: String(body.entity_value), snooze_id: 's-1', until: iso(-60), created_by: 'ann' }
    snoozes.push(created)
    return { status: 201, body: created }
  }

  function answerAboutRules(line: string, body: Record<string, unknown>, query: URLSearchParams): FakeAnswer {
    if (line === 'GET rules') {
      return { body: { ruleset_version: 7, rules: query.get('all') === 'true' ? rules : rules.filter(({ enabled }) => enabled) } }
    }
    if (line === 'GET rules/fields')
      return { body: { fields: FIELDS.map(({ name, type, description }) => ({ name, type, description })), functions: [] } }
    if (line === 'POST rules/validate') return { body: validated(String(body.condition)) }
    if (line === 'POST rules/backtest') return { status: 202, body: { job_id: 'j-1' } }
    if (line === 'GET rules/backtest/j-1') {
      polls++
      return { body: polls < 2 ? { status: 'running', progress: 0.4, report: null } : { status: 'done', progress: 1, report: REPORT } }
    }
    const [method, path] = line.split(' ', 2)
    if (path.includes('/snoozes')) return answerAboutSnoozes(method, path, body)
    if (path.endsWith('/stats')) return { body: path === 'rules/night/stats' ? SILENT : STATS }
    if (line === 'GET rules/versions') return { body: { versions: VERSIONS } }
    if (line === 'POST rules/rollback') return { body: { ruleset_version: 8 } }
    const { faults } = method === 'POST' || method === 'PUT' ? validated(String(body.condition)) : { faults: [] }
    if (faults.length > 0) return { ...refusal(400, 'invalid_condition', faults) }
    const rule = rules.find(({ rule_id }) => path === `rules/${rule_id}`)
    if (method === 'GET') return rule === undefined ? refusal(404, 'rule_not_found') : { body: rule }
    if (method === 'DELETE' && rule !== undefined) rule.enabled = false
    else if (rule !== undefined) Object.assign(rule, body, { updated_at: new Date(Date.parse(rule.updated_at) + 1).toISOString() })
    else rules.push(ruleOf(String(body.rule_id), body))
    return method === 'DELETE' ? { status: 204 } : { status: method === 'POST' ? 201 : 200, body: rule ?? rules.at(-1) }
  }

  return { answer, changes, replaced, cases, rules, correctAsBob }
}

function is(query: URLSearchParams, name: string, value: string | null): boolean {
  const wanted = query.get(name)
  return wanted === null || wanted === value
}

function validated(condition: string) {
  const compiled = compileCondition(condition)
  return { valid: compiled.ok, canonical: null, faults: compiled.ok ? [] : compiled.faults, fields: [] }
}

export function refusal(status: number, error: string, details?: unknown): FakeAnswer {
  return { status, body: { error, message: 'A message of the API.', request_id: 'r', details } }
}
