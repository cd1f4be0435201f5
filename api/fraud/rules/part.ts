import { childrenOf, type Node } from '../../../schemas/fraud/rules/ast.ts'
import { compileCondition } from '../../../schemas/fraud/rules/compile.ts'
import { describeFault } from '../../../schemas/fraud/rules/faults.ts'
import { FIELD_NAMES, FIELDS, fieldOf } from '../../../schemas/fraud/rules/fields.ts'
import { formatCondition } from '../../../schemas/fraud/rules/format.ts'
import { FUNCTIONS } from '../../../schemas/fraud/rules/functions.ts'
import { byPrecedence, isActive, type Rule } from '../../../schemas/fraud/rules/rule.ts'
import { RULES_KEY } from '../../../schemas/fraud/settings/keys.ts'
import { readFraudAudit } from '../../../state/tables/fraud/audit.ts'
import { readRuleSetVersion } from '../../../state/views/fraud/rule-sets.ts'
import { type Answer, jsonAnswer, noContent } from '../../kit/answer.ts'
import { ApiError, invalidRequest } from '../../kit/errors.ts'
import { PRIVATE } from '../../kit/headers.ts'
import { versionTag } from '../../kit/input.ts'
import { caughtUp } from '../../kit/readiness.ts'
import { bind } from '../../kit/route.ts'
import { isoTime } from '../../kit/times.ts'
import type { ServiceKit } from '../../service.ts'
import { fraudErrors } from '../errors.ts'
import type { FraudPart } from '../part.ts'
import type { ChangeSettings } from '../settings-commands.ts'
import type { FraudSettingsInForce } from '../settings-in-force.ts'
import { faultJson, ruleFrom, ruleJson } from './model.ts'
import {
  auditRoute,
  createRuleRoute,
  deleteRuleRoute,
  fieldsRoute,
  listRulesRoute,
  readRuleRoute,
  readVersionRoute,
  replaceRuleRoute,
  rollbackRoute,
  validateRoute,
  versionsRoute,
} from './routes.ts'

export interface RulesDeps extends Pick<ServiceKit, 'views' | 'tables' | 'now'> {
  readonly settings: FraudSettingsInForce
  readonly changeSettings: ChangeSettings
}

/**
 * Maximum size of a `before` or `after` value in a page of up to 100 changes. A list or rule set can have up to 1 MiB,
 * and a hundred such values would make the page too large.
 */
const MAX_LISTED_TEXT_BYTES = 16_384
const MAX_SINGLE_TEXT_BYTES = 4 * 1_024 * 1_024

/** Creates the routes that operators use to change and read the rules. */
export function rulesPart({ settings, changeSettings, views, tables, now }: RulesDeps): FraudPart {
  function shown(rule: Rule) {
    const faults = settings.ruleSet.broken.find((broken) => broken.rule === rule)?.faults
    return ruleJson(rule, faults && describeFault(faults[0]))
  }

  function ruleAnswer(status: number, rule: Rule, body: object): Answer {
    return { ...jsonAnswer(status, body, { ...PRIVATE, ETag: versionTag(rule.updated_at) }), hasVersionTag: true }
  }

  /** Returns the rules of one of the last 50 versions. */
  async function rulesOf(version: number): Promise<readonly Rule[]> {
    const { rules } = settings
    if (version === rules.version) return rules.rules
    const found = rules.history.some((one) => one.version === version) ? caughtUp(await readRuleSetVersion(views, version)) : undefined
    if (found === undefined) throw new ApiError(fraudErrors.ruleset_version_not_found)
    return found
  }

  return {
    routes: [
      // The routes of a single rule come last, because the first matching route is used.
      bind(fieldsRoute, () => jsonAnswer(200, { fields: FIELDS_JSON, functions: FUNCTIONS_JSON }, PRIVATE)),
      bind(validateRoute, ({ body }) => jsonAnswer(200, validation(body.condition, settings), PRIVATE)),
      bind(versionsRoute, () => {
        const versions = settings.rules.history.map((version) => ({ ...version, at: isoTime(version.at) }))
        return jsonAnswer(200, { versions }, PRIVATE)
      }),
      bind(readVersionRoute, async ({ params: { version } }) => {
        const rules = (await rulesOf(version)).toSorted(byPrecedence)
        return jsonAnswer(200, { ruleset_version: version, rules: rules.map((rule) => ruleJson(rule, undefined)) }, PRIVATE)
      }),
      bind(rollbackRoute, async (input) => {
        const { version } = input.body
        const asked = ['rollBackFraudRules', version]
        const change = { key: RULES_KEY, action: 'roll_back_rules', input: { version }, outcome: 'rules', asked } as const
        const { ruleset_version } = await changeSettings(input, change)
        return jsonAnswer(200, { ruleset_version }, PRIVATE)
      }),
      bind(auditRoute, async ({ query: { page, limit, subject } }) => {
        const maxTextBytes = limit === 1 ? MAX_SINGLE_TEXT_BYTES : MAX_LISTED_TEXT_BYTES
        const found = await readFraudAudit(tables, { subject, offset: (page - 1) * limit, limit, maxTextBytes })
        const changes = found.map((one) => ({ ...one, at: isoTime(one.at), before: parsed(one.before), after: parsed(one.after) }))
        return jsonAnswer(200, { changes }, PRIVATE)
      }),
      bind(createRuleRoute, async (input) => {
        const { rule_id } = input.body
        const rule = ruleFrom(rule_id, input.body, input.caller!.subject)
        const asked = ['createFraudRule', input.body]
        const command = { key: RULES_KEY, action: 'create_rule', input: { rule_id, rule }, outcome: 'rules', asked } as const
        const answer = await changeSettings(input, { ...command, exists: fraudErrors.rule_exists })
        return ruleAnswer(201, answer.rule!, ruleJson(answer.rule!, undefined))
      }),
      bind(listRulesRoute, ({ query: { all } }) => {
        const { version, rules } = settings.rules
        const listed = all ? rules : rules.filter((rule) => isActive(rule, now()))
        return jsonAnswer(200, { ruleset_version: version, rules: listed.toSorted(byPrecedence).map(shown) }, PRIVATE)
      }),
      bind(readRuleRoute, ({ params: { rule_id } }) => {
        const rule = settings.rules.rules.find((one) => one.rule_id === rule_id)
        if (rule === undefined) throw new ApiError(fraudErrors.rule_not_found)
        return ruleAnswer(200, rule, shown(rule))
      }),
      bind(replaceRuleRoute, async (input) => {
        const { rule_id } = input.params
        if ((input.body.rule_id ?? rule_id) !== rule_id) throw invalidRequest('body.rule_id', 'must equal the rule_id in the path')
        const rule = ruleFrom(rule_id, input.body, '')
        const version = input.expectedVersion ?? null
        const asked = ['replaceFraudRule', rule_id, input.body, version]
        const answer = await changeSettings(input, {
          key: RULES_KEY,
          action: 'replace_rule',
          input: { rule_id, rule, version },
          outcome: 'rules',
          asked,
        })
        return ruleAnswer(200, answer.rule!, ruleJson(answer.rule!, undefined))
      }),
      bind(deleteRuleRoute, async (input) => {
        const { rule_id } = input.params
        const { remove } = input.query
        const asked = ['disableFraudRule', rule_id, remove]
        const action = remove ? 'remove_rule' : 'disable_rule'
        await changeSettings(input, { key: RULES_KEY, action, input: { rule_id }, outcome: 'rules', asked })
        return noContent()
      }),
    ],
  }
}

const FIELDS_JSON = FIELDS.map((field) => ({
  name: field.name,
  type: field.type,
  always_present: !field.optional,
  description: field.description,
  aliases: FIELD_NAMES.filter((name) => name !== field.name && fieldOf(name) === field),
}))

const FUNCTIONS_JSON = [...FUNCTIONS].map(([name, { parameters, result }]) => ({ name, parameters: [...parameters], result }))

function validation(text: string, { lists }: Pick<FraudSettingsInForce, 'lists'>) {
  const compiled = compileCondition(text)
  if (!compiled.ok) {
    return { valid: false, canonical: null, faults: compiled.faults.map(faultJson), fields: [], lists: [], unknown_lists: [] }
  }
  const { node, lists: names } = compiled.condition
  return {
    valid: true,
    canonical: formatCondition(node),
    faults: [],
    fields: [...fieldsOf(node)],
    lists: [...names],
    unknown_lists: names.filter((name) => !lists.has(name)),
  }
}

/** Returns the names of all fields that a condition reads, including fields that only `IS MISSING` reads. */
function fieldsOf(node: Node, found = new Set<string>()): ReadonlySet<string> {
  if (node.kind === 'field') found.add(fieldOf(node.name)!.name)
  for (const child of childrenOf(node)) fieldsOf(child, found)
  return found
}

/** Names of the fields that contain times, in epoch ms, in the states that the audit log records. */
const TIMES: ReadonlySet<string> = new Set(['created_at', 'updated_at', 'expires_at', 'until', 'since'])

/** Parses the JSON of a state, and converts its times to the format of all times in responses. */
function parsed(json: string | null): unknown {
  if (json === null) return null
  return JSON.parse(json, (name, value) => (TIMES.has(name) && typeof value === 'number' ? isoTime(value) : value))
}
