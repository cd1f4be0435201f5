/** Generated from the .avsc files of this folder by `npm run schemas`; a test keeps it up to date. Do not edit. */

/** A request to add, change or remove one entry of the blocklist. Body of topic fraud-blocklist-commands, key: entry_id. */
export interface FraudBlocklistCommand {
  action: FraudBlocklistAction
  /** the subject of the caller's token */
  actor: string
  /** the requested entry, for the actions block and change; null for unblock */
  request: null | FraudBlocklistRequest
}

export type FraudBlocklistAction = 'block' | 'unblock' | 'change'

export interface FraudBlocklistRequest {
  entity_type: FraudBlocklistType
  /** canonical; EMAIL: a hash keyed by FRAUD_HASH_KEY */
  entity_value: string
  /** EMAIL: the masked address that analysts see */
  masked_value: null | string
  reason: string
  blocked_by: string
  /** null: permanent */
  ttl_hours: null | number
}

export type FraudBlocklistType = 'USER' | 'DEVICE' | 'IP' | 'CARD_HASH' | 'EMAIL'

/** An entity whose transactions are blocked. Topic `fraud-blocklist`, key: <entity_type>:<entity_value>. Value of store `entries` of topology `fraud-blocklist` and view of topic `fraud-blocklist-decisions`, key: entry_id. */
export interface FraudBlocklistEntry {
  /** hash of type and value */
  entry_id: string
  entity_type: FraudBlocklistType
  /** canonical; EMAIL: a hash keyed by FRAUD_HASH_KEY */
  entity_value: string
  /** EMAIL: the masked address that analysts see; otherwise null */
  masked_value: null | string
  reason: string
  blocked_by: string
  /** null: permanent */
  ttl_hours: null | number
  created_at: number
  expires_at: null | number
}

/** The case of a transaction, with what analysts have decided and noted about the transaction. Value of store `cases` of topology `fraud-cases` and view of topic `fraud-cases`, key: transaction_id. */
export interface FraudCase {
  /** decimal; schemas/fraud/cases/case-id.ts */
  case_id: string
  /** grows with every change */
  version: number
  transaction: FraudReview
  status: FraudCaseStatus
  assigned_to: null | string
  fraud_type: null | string
  /** the newest notes; empty: none */
  notes: string
  /** the newest verdict; null: none */
  verdict: null | FraudVerdict
  verdict_at: null | number
  created_at: number
  updated_at: number
  /** when a verdict closed the case; null: the case is open */
  resolved_at: null | number
  /** true: the case is removed from the state and the view, but remains in the table */
  is_archived: boolean
  /** the newest changes, oldest first */
  history: FraudCaseEntry[]
}

/** What a case shows of a scored transaction. Topic fraud-reviews, key: transaction_id, for transactions with the decision REVIEW. */
export interface FraudReview {
  transaction_id: string
  user_id: string
  /** fingerprint_id */
  device: null | string
  ip: null | string
  /** card_hash */
  card: null | string
  /** merchant_id */
  merchant: null | string
  amount: number
  currency: string
  decision: FraudDecision
  risk_score: number
  triggered_rules: string[]
  risk_factors: FraudRiskFactor[]
  scored_at: number
}

export type FraudDecision = 'APPROVE' | 'REVIEW' | 'BLOCK'

export interface FraudRiskFactor {
  factor: string
  contribution: number
}

export type FraudCaseStatus = 'OPEN' | 'IN_REVIEW' | 'ESCALATED' | 'CONFIRMED_FRAUD' | 'FALSE_POSITIVE'

export type FraudVerdict = 'CONFIRMED_FRAUD' | 'FALSE_POSITIVE' | 'SUSPICIOUS'

/** A change of a case. Its status, assigned_to and fraud_type are the values after the change. */
export interface FraudCaseEntry {
  at: number
  /** the subject of the caller's token; null for OPENED */
  actor: null | string
  action: FraudCaseAction
  status: FraudCaseStatus
  assigned_to: null | string
  /** given with this change, or repeated because fraud_type changed; null: none */
  verdict: null | FraudVerdict
  /** who gave the verdict; null: the actor, or there is no verdict */
  reporter: null | string
  /** the verdict that this one replaces; null: none */
  previous_verdict: null | FraudVerdict
  previous_at: null | number
  fraud_type: null | string
  /** given with this change; empty: none */
  notes: string
  evidence: string[]
}

export type FraudCaseAction = 'OPENED' | 'CHANGED' | 'VERDICT'

/** An analyst's request to change the case of a transaction, or to give a verdict on the transaction. Body of topic fraud-case-commands, key: transaction_id. */
export interface FraudCaseCommand {
  /** the subject of the caller's token */
  actor: string
  /** who gave the verdict; null: the actor */
  reporter: null | string
  verdict: null | FraudVerdict
  /** the new status; null: unchanged, unless the command gives a verdict. The statuses CONFIRMED_FRAUD and FALSE_POSITIVE are also verdicts */
  status: null | FraudCaseStatus
  /** null: unchanged */
  assigned_to: null | FraudNewText
  /** null: unchanged */
  fraud_type: null | FraudNewText
  /** null: unchanged */
  notes: null | string
  evidence: string[]
  /** the case that the command is about; null: the newest case of the transaction id */
  case_id: null | string
  /** the command is refused if the case has a different version; null: any */
  version: null | number
  /** the transaction for which a case is opened if the transaction has no case; null: no case is opened */
  transaction: null | FraudReview
  /** JSON of the FraudCase as stored in ClickHouse, in case the state no longer contains it; null: not needed or not found */
  archived: null | string
}

/** A new value. A null text removes the old value. */
export interface FraudNewText {
  text: null | string
}

/** Transactions and verdicts of one commit, for the entities of one partition. Keys of entities are <kind>:<id>. Repartition topic `changes` of topology `fraud-profiles`, key: number of the partition. */
export interface FraudChangedEntities {
  /** transactions in rows of fixed size: schemas/fraud/profile/rows.ts */
  rows: Buffer
  /** as Avro strings, for each row: the key of its user, then the keys of its other entities in this partition */
  entities: Buffer
  judged: FraudEntityVerdict[]
}

export interface FraudEntityVerdict {
  entity: string
  verdict: FraudEntityVerdictKind
  previous: null | FraudEntityVerdictKind
  at: number
  previous_at: null | number
}

export type FraudEntityVerdictKind = 'CONFIRMED_FRAUD' | 'FALSE_POSITIVE' | 'SUSPICIOUS'

/** An analyst's verdict about a transaction. It may correct the previous verdict or repeat it, for example with a new fraud_type. Topic fraud-feedback, key: transaction_id. */
export interface FraudFeedback {
  transaction_id: string
  case_id: string
  verdict: FraudVerdict
  /** the verdict before this one, which may be the same; null: this is the first verdict */
  previous_verdict: null | FraudVerdict
  /** when the previous verdict was first given; null: this is the first verdict */
  previous_at: null | number
  fraud_type: null | string
  notes: string
  evidence: string[]
  reporter: string
  at: number
  user_id: string
  /** fingerprint_id */
  device: null | string
  ip: null | string
  /** card_hash */
  card: null | string
  /** merchant_id */
  merchant: null | string
}

/** The profile of a user, device, IP, card or merchant. Store profiles of the topology fraud-profiles, whose changelog feeds the view in Redis; key: <kind>:<id>. Columns of bytes hold rows of fixed size: schemas/fraud/profile. */
export interface FraudProfile {
  /** number of all transactions ever; the sum, the mean and the deviations are also those of all transactions */
  txn_count: number
  /** sum in 1/10,000 USD */
  txn_units: number
  mean_usd: number
  /** sum of squared deviations, by Welford */
  m2_usd: number
  /** 0 without transactions */
  first_seen: number
  /** 0 without transactions */
  newest_at: number
  /** the newest transactions */
  events: Buffer
  /** older transactions and, for merchants, frauds */
  sums: Buffer
  /** users: the newest places */
  places: Buffer
  /** users that were seen with the entity; the next four columns list the other kinds of entities in the same way */
  users: Buffer
  devices: Buffer
  ips: Buffer
  cards: Buffer
  merchants: Buffer
  /** devices and IPs: the users seen last, newest first */
  user_ids: FraudKnownUser[]
  /** NORMAL unless the entity is a user or a device */
  tier: FraudRiskTier
  /** transactions that are confirmed as fraud */
  fraud_count: number
  /** the transactions that this version adds to the previous one, in rows as in events; the view removes them from the transactions in flight */
  included: Buffer
}

export interface FraudKnownUser {
  user_id: string
  last_at: number
}

export type FraudRiskTier = 'NORMAL' | 'ELEVATED' | 'HIGH'

/** Counts of rule results in one API process and hour, so far. Topic fraud-rule-tallies, key: node. Later counts of the same node, hour, rule and mode replace earlier ones. */
export interface FraudRuleTallies {
  /** UUID of the API process, new at every start */
  node: string
  /** beginning of the hour */
  hour: number
  rules: FraudRuleTally[]
}

export interface FraudRuleTally {
  rule_id: string
  /** live or shadow */
  mode: string
  /** failed evaluations included */
  evaluated: number
  /** without snoozed matches */
  matched: number
  /** matches in which the rule had precedence over all others that matched */
  decided: number
  /** matches that a snooze suppressed */
  snoozed: number
  /** evaluations that threw */
  failed: number
  /** how often a shadow rule was skipped because the time limit of shadow rules was reached */
  skipped: number
  /** evaluations without a result, because a value or a list was absent or a calculation had no valid result */
  missing: number
  /** number of evaluations without a result, by cause: the name of an absent field, list:<name> for a list that does not exist, or arithmetic for a division by zero or an overflow. One evaluation may have several causes */
  missing_by: { [key: string]: number }
}

/** A setting of fraud scoring. Value of topic `fraud-rulesets` (compacted) and of store `settings` of topology `fraud-settings`, key: rules, list:<name>, snooze:<snooze_id>, models or counts. The store also contains the versions of the rule set that can be restored, key: version:<n>. The views of topic `fraud-settings-decisions` contain only these versions. Only the field that the key names has a value; for version:<n>, this field is rules. */
export interface FraudSetting {
  rules: null | FraudRuleSet
  list: null | FraudList
  snooze: null | FraudSnooze
  models: null | FraudModels
  counts: null | FraudSettingsCounts
}

/** All rules of one version of the rule set. */
export interface FraudRuleSet {
  /** 0: the seeded rules */
  version: number
  rules: FraudRule[]
  /** the versions that can be restored, including this one, newest first; empty under the keys version:<n> with n above 0 */
  history: FraudRuleSetVersion[]
}

export interface FraudRule {
  rule_id: string
  name: string
  condition: string
  action: FraudRuleAction
  /** of the rules that match, the one with the lowest number decides */
  priority: number
  enabled: boolean
  mode: FraudRuleMode
  created_by: string
  created_at: number
  updated_at: number
  expires_at: null | number
}

export type FraudRuleAction = 'APPROVE' | 'REVIEW' | 'BLOCK' | 'STEP_UP'

export type FraudRuleMode = 'live' | 'shadow'

/** A version that can be restored. */
export interface FraudRuleSetVersion {
  version: number
  changed_by: string
  at: number
  action: string
  /** the rule that changed; null: several rules */
  rule_id: null | string
  /** number of rules in this version */
  rules: number
}

/** A list of values for the rule function inList. */
export interface FraudList {
  name: string
  /** at most 10,000 values, and 1 MiB as JSON */
  values: string[]
  updated_by: string
  created_at: number
  updated_at: number
}

/** A period in which one rule skips one entity. */
export interface FraudSnooze {
  snooze_id: string
  rule_id: string
  entity_type: FraudSnoozeEntity
  /** canonical; EMAIL: a keyed hash */
  entity_value: string
  until: number
  reason: null | string
  created_by: string
  created_at: number
}

export type FraudSnoozeEntity = 'USER' | 'DEVICE' | 'IP' | 'CARD_HASH' | 'EMAIL' | 'MERCHANT'

/** The models that score transactions, and their policies. */
export interface FraudModels {
  champion: FraudChampion
  challenger: null | FraudChallenger
  /** earlier champions for roll-backs, newest first */
  previous: FraudChampion[]
  /** the highest version of a policy so far */
  policies: number
}

export interface FraudChampion {
  /** version of each model, by the model's name; models without an entry have the shipped version */
  versions: { [key: string]: string }
  policy: FraudPolicy
  since: number
  set_by: string
}

/** How the scores of the models lead to a decision: docs/services/fraud.md#decision */
export interface FraudPolicy {
  version: number
  weights: FraudPolicyWeights
  levels: FraudPolicyLevels
  thresholds: FraudPolicyScores
  alone: FraudPolicyAlone
  floors: FraudPolicyScores
  default_profile: FraudPolicyDefaultProfile
}

export interface FraudPolicyWeights {
  account_takeover: number
  payment_fraud: number
  money_laundering: number
}

export interface FraudPolicyLevels {
  medium: number
  high: number
  critical: number
}

export interface FraudPolicyScores {
  review: number
  block: number
}

export interface FraudPolicyAlone {
  account_takeover: FraudAloneThresholds
  payment_fraud: FraudAloneThresholds
  money_laundering: FraudAloneThresholds
}

export interface FraudAloneThresholds {
  medium: null | number
  high: null | number
  critical: null | number
}

export interface FraudPolicyDefaultProfile {
  rules_only_below: number
  review_from: number
}

export interface FraudChallenger {
  versions: { [key: string]: string }
  /** the policy that applies once the challenger is promoted; null: the champion's policy */
  policy: null | FraudPolicy
  since: number
  set_by: string
}

export interface FraudSettingsCounts {
  /** how often settings were changed */
  revision: number
  lists: number
  snoozes: number
}

/** Audit record of a change of a setting of fraud scoring or of the blocklist, or of a repeated transaction that the blocklist blocked. Topic fraud-audit, key: subject. */
export interface FraudSettingsChange {
  /** rule:<rule_id>, rules, list:<name>, snooze:<snooze_id>, models, blocklist:<entry_id> or transaction:<transaction_id> */
  subject: string
  action: string
  actor: string
  at: number
  /** version of the rule set or of the champion's policy after the change; null: the change concerns neither */
  version: null | number
  /** JSON; null: there was none */
  before: null | string
  /** JSON; null: there is none */
  after: null | string
}

/** A change of the settings of fraud scoring. Body of topic fraud-settings-commands, key: rules, list:<name>, snooze:<snooze_id> or models. */
export interface FraudSettingsCommand {
  action: FraudSettingsAction
  /** the subject of the caller's token; fraud-guard for changes by the guard */
  actor: string
  /** actions about one rule; end_snooze: the rule of the snooze */
  rule_id: null | string
  /** create_rule, replace_rule; the decision sets created_at and updated_at */
  rule: null | FraudRule
  /** roll_back_rules: the version to restore. replace_rule, shadow_rule: the expected updated_at of the rule, epoch ms; null: any */
  version: null | number
  /** actions about one list: its name */
  list: null | string
  /** create_list, replace_list */
  values: null | string[]
  /** snooze_rule; the decision sets until, created_by and created_at */
  snooze: null | FraudSnooze
  /** snooze_rule: duration of the snooze */
  hours: null | number
  /** assign_models, set_challenger: version of each model, by the model's name */
  versions: null | { [key: string]: string }
  /** assign_models, set_challenger; null: the champion's policy. A policy gets its version when it comes into force */
  policy: null | FraudPolicy
  /** promote_challenger: true to promote the challenger even before its trial has lasted 7 days */
  force: boolean
}

export type FraudSettingsAction =
  | 'create_rule'
  | 'replace_rule'
  | 'disable_rule'
  | 'remove_rule'
  | 'shadow_rule'
  | 'roll_back_rules'
  | 'create_list'
  | 'replace_list'
  | 'delete_list'
  | 'snooze_rule'
  | 'end_snooze'
  | 'assign_models'
  | 'set_challenger'
  | 'end_challenger'
  | 'promote_challenger'
  | 'roll_back_models'

/** A scored transaction with all that its decision was based on. Topic txn.scored, key: payer.user_id. */
export interface TxnScored {
  request: FraudRequest
  ip: FraudIpFacts
  features: FraudFeatures
  decision: FraudDecision
  risk_score: number
  risk_level: FraudRiskLevel
  reason: null | string
  requires_3ds: boolean
  /** ids of the rules that matched */
  triggered_rules: string[]
  /** ids of the rules in shadow that matched */
  shadow_rules: string[]
  ml_scores: FraudMlScores
  /** null: the transaction is not in the challenger's share */
  challenger_scores: null | FraudMlScores
  risk_factors: FraudRiskFactor[]
  /** what was away */
  degraded: string[]
  ruleset_version: number
  policy_version: number
  model_versions: { [key: string]: string }
  request_id: string
  scored_at: number
}

/** A scoring request; null: missing. E-mail and phone are hashes keyed by FRAUD_HASH_KEY. */
export interface FraudRequest {
  transaction_id: string
  timestamp: number
  /** in the request's currency */
  amount: number
  /** ISO 4217, upper case */
  currency: string
  transaction_type: string
  payer: FraudPayer
  payee: FraudPayee
  payment_instrument: FraudInstrument
  device: FraudDevice
  session: FraudSession
}

export interface FraudPayer {
  user_id: string
  email_hash: null | string
  phone_hash: null | string
  account_age_days: null | number
  /** ISO 3166-1 alpha-2, upper case */
  country: null | string
}

export interface FraudPayee {
  merchant_id: null | string
  merchant_category: null | string
  merchant_country: null | string
}

export interface FraudInstrument {
  type: null | string
  card_hash: null | string
  issuer_bank: null | string
  bin_country: null | string
}

export interface FraudDevice {
  fingerprint_id: null | string
  /** in canonical form */
  ip_address: null | string
  user_agent: null | string
  /** degrees; both or neither */
  lat: null | number
  lng: null | number
}

export interface FraudSession {
  session_id: null | string
  login_method: null | string
  time_since_login_sec: null | number
}

/** What databases said about the IP address at that time; null: unknown. */
export interface FraudIpFacts {
  geo_country: null | string
  is_vpn: null | boolean
  is_tor: null | boolean
  is_datacenter: null | boolean
}

/** Features as scored; null: missing. schemas/fraud/features computes them, docs/services/fraud.md#features defines them. */
export interface FraudFeatures {
  amount_usd: number
  user_velocity_1h: null | number
  user_velocity_24h: null | number
  user_velocity_7d: null | number
  /** USD, as all sums */
  user_sum_1h: null | number
  user_sum_24h: null | number
  user_sum_7d: null | number
  device_velocity_1h: null | number
  device_velocity_24h: null | number
  device_velocity_7d: null | number
  device_sum_1h: null | number
  device_sum_24h: null | number
  device_sum_7d: null | number
  ip_velocity_1h: null | number
  ip_velocity_24h: null | number
  ip_velocity_7d: null | number
  ip_sum_1h: null | number
  ip_sum_24h: null | number
  ip_sum_7d: null | number
  card_velocity_1h: null | number
  card_velocity_24h: null | number
  card_velocity_7d: null | number
  card_sum_1h: null | number
  card_sum_24h: null | number
  card_sum_7d: null | number
  amount_zscore: null | number
  user_txn_count: null | number
  user_txn_sum: null | number
  user_avg_amount: null | number
  user_stddev_amount: null | number
  user_distinct_devices_7d: null | number
  user_distinct_ips_24h: null | number
  user_distinct_cards_24h: null | number
  user_distinct_merchants_7d: null | number
  /** NORMAL, ELEVATED or HIGH */
  user_risk_tier: null | string
  user_fraud_history_count: null | number
  geo_distance_km: null | number
  geo_travel_severity: null | number
  geo_impossible_travel: null | boolean
  time_since_last_txn_s: null | number
  /** new for the user */
  is_new_device: null | boolean
  /** new for the user */
  is_new_merchant: null | boolean
  device_age_days: null | number
  device_distinct_users_24h: null | number
  device_distinct_users_7d: null | number
  device_distinct_cards_24h: null | number
  device_risk_tier: null | string
  device_fraud_assoc_count: null | number
  ip_distinct_users_24h: null | number
  ip_distinct_devices_24h: null | number
  ip_distinct_cards_24h: null | number
  ip_fraud_assoc_count: null | number
  card_age_days: null | number
  card_distinct_users_24h: null | number
  card_distinct_devices_24h: null | number
  card_distinct_ips_24h: null | number
  card_distinct_merchants_24h: null | number
  card_fraud_assoc_count: null | number
  merchant_txn_count_7d: null | number
  merchant_txn_count_30d: null | number
  merchant_avg_amount_30d: null | number
  merchant_fraud_rate_7d: null | number
  merchant_fraud_rate_30d: null | number
  merchant_fraud_count: null | number
  session_risk_score: null | number
}

export type FraudRiskLevel = 'LOW' | 'MEDIUM' | 'HIGH' | 'CRITICAL'

export interface FraudMlScores {
  /** false: the models were away, and the scores are 0 */
  evaluated: boolean
  account_takeover: number
  payment_fraud: number
  money_laundering: number
}

declare module '../load.ts' {
  interface RecordTypes {
    'fraud/FraudBlocklistCommand': FraudBlocklistCommand
    'fraud/FraudBlocklistEntry': FraudBlocklistEntry
    'fraud/FraudCase': FraudCase
    'fraud/FraudCaseCommand': FraudCaseCommand
    'fraud/FraudChangedEntities': FraudChangedEntities
    'fraud/FraudFeedback': FraudFeedback
    'fraud/FraudProfile': FraudProfile
    'fraud/FraudReview': FraudReview
    'fraud/FraudRuleTallies': FraudRuleTallies
    'fraud/FraudSetting': FraudSetting
    'fraud/FraudSettingsChange': FraudSettingsChange
    'fraud/FraudSettingsCommand': FraudSettingsCommand
    'fraud/TxnScored': TxnScored
  }
}
