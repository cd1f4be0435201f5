/** Generated from the .avsc files of this folder by `npm run schemas`; a test keeps it up to date. Do not edit. */

/** Audit record of a change of a rule or an API key. Topic limit-audit, key: subject. */
export interface LimitChange {
  /** rule:<rule_id> or key:<key_id> */
  subject: string
  action: LimitCommandAction
  actor: string
  at: number
  /** JSON without the hash of the API key; null: there was none */
  before: null | string
  /** JSON without the hash of the API key */
  after: null | string
}

export type LimitCommandAction = 'create_rule' | 'replace_rule' | 'delete_rule' | 'issue_key' | 'revoke_key'

/** An API key and its owner. Topic limit-clients (compacted), key: key_hash. */
export interface LimitClient {
  /** identifies the key without revealing it */
  key_id: string
  /** SHA-256 of the key, hex; the key itself is not stored */
  key_hash: string
  /** at most 100 characters; a client may have several keys */
  client_id: string
  tier: string
  label: string
  created_at: number
  revoked_at: null | number
}

/** A change of one rule or one API key. Body of topic limit-commands, key: rule:<rule_id> or key:<key_id>. */
export interface LimitCommand {
  action: LimitCommandAction
  /** the subject of the administrator's token */
  actor: string
  /** create_rule, replace_rule: the rule; the decision sets its created_at and updated_at. Otherwise null */
  rule: null | LimitRule
  /** issue_key: the API key; the decision sets its created_at. Otherwise null */
  client: null | LimitClient
}

/** A rate limit rule. Topic limit-rules (compacted), key: rule_id. */
export interface LimitRule {
  /** at most 100 characters */
  rule_id: string
  /** at most 50 characters; * for all */
  tier: string
  /** [METHOD ]/exact/path, /a/prefix/* or *; at most 200 characters */
  endpoint_pattern: string
  /** Requests with equal values of these parts share a counter */
  key: LimitKeyPart[]
  limit_count: number
  window_seconds: number
  /** above 0: the rule is a token bucket of limit_count + burst_allowance tokens; 0: it is a sliding window */
  burst_allowance: number
  action: LimitAction
  is_active: boolean
  created_at: number
  updated_at: number
}

export type LimitKeyPart = 'client' | 'api_key' | 'user' | 'ip' | 'endpoint'

export type LimitAction = 'reject' | 'log_only'

/** A rule or an API key after the last decision about it; the field of the other kind is null. Value of store `settings` of topology `limits` and view of topic `limit-decisions`, key: rule:<rule_id> or key:<key_id>. */
export interface LimitSetting {
  rule: null | LimitRule
  client: null | LimitClient
  changed_by: string
  action: LimitCommandAction
}

/** Counts of the requests on which one API process decided in one second, for replays against draft rules. Topic limit-traffic, key: node. */
export interface LimitTraffic {
  second: number
  node: string
  entries: LimitTrafficEntry[]
  /** number of requests that no entry counts, because the record was full */
  left_out: number
}

export interface LimitTrafficEntry {
  client_id: string
  tier: string
  /** empty: none */
  api_key_id: string
  /** empty: none */
  user_id: string
  ip: string
  method: string
  /** the first 200 characters of the path */
  path: string
  requests: number
  refused: number
}

/** A request that exceeded a rule's limit. Each API instance writes at most one record per client, rule and second. The table limit_violations has one row per client, rule and second, regardless of the number of instances. Topic limit-violations, key: client_id. */
export interface LimitViolation {
  at: number
  rule_id: string
  client_id: string
  method: string
  /** the first 200 characters of the path */
  path: string
  action: LimitAction
  estimate: number
  limit_count: number
}

declare module '../load.ts' {
  interface RecordTypes {
    'limits/LimitChange': LimitChange
    'limits/LimitClient': LimitClient
    'limits/LimitCommand': LimitCommand
    'limits/LimitRule': LimitRule
    'limits/LimitSetting': LimitSetting
    'limits/LimitTraffic': LimitTraffic
    'limits/LimitViolation': LimitViolation
  }
}
