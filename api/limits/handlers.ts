import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { keySubject, limitFlow, ruleSubject } from '../../schemas/limits/flow.ts'
import type { LimitClient, LimitCommand } from '../../schemas/limits/types.ts'
import { readAudit } from '../../state/tables/limits/audit.ts'
import { readViolations } from '../../state/tables/limits/violations.ts'
import type { TableReader } from '../../state/tables/reader.ts'
import { type Answer, jsonAnswer, noContent } from '../kit/answer.ts'
import { isDecimalUserId, unauthorized } from '../kit/auth/authorize.ts'
import type { CommandRequest, Commands, OpenCommand } from '../kit/commands/commands.ts'
import { hashOf } from '../kit/commands/idempotency.ts'
import { ApiError, errors } from '../kit/errors.ts'
import { PRIVATE } from '../kit/headers.ts'
import { bind, type HandlerInput } from '../kit/route.ts'
import type { ServiceRoutes } from '../kit/service-routes.ts'
import { isoTime } from '../kit/times.ts'
import { auditedJson } from './audit.ts'
import { checkFor } from './check.ts'
import { hashOfKey } from './core/caller.ts'
import type { CounterStore } from './core/counter.ts'
import type { FailOpenLimiter } from './core/fail-open-limiter.ts'
import type { LimitedPaths } from './core/limited-paths.ts'
import type { LimitSettings } from './core/settings.ts'
import { limitsErrors } from './errors.ts'
import { keyJson, ruleFrom, ruleJson } from './model.ts'
import {
  auditRoute,
  checkRoute,
  createRuleRoute,
  deleteRuleRoute,
  issueKeyRoute,
  listKeysRoute,
  listRulesRoute,
  readRuleRoute,
  replaceRuleRoute,
  resetRoute,
  revokeKeyRoute,
  simulateRoute,
  usageRoute,
  violationsRoute,
} from './routes.ts'
import { simulate } from './simulate.ts'
import { limitedClientId, usage } from './usage.ts'

export interface LimitsDeps {
  readonly settings: LimitSettings
  readonly limiter: FailOpenLimiter
  readonly counters: CounterStore
  /** The paths that this process limits. */
  readonly paths: LimitedPaths
  /** Whether the counters' memory is almost full. */
  isMemoryShort(): boolean
  /** Resets counters in Redis and in this process. */
  forget(keys: readonly string[]): Promise<void>
  readonly commands: Commands
  readonly tables: TableReader
  /** Epoch ms. */
  now(): number
}

const KEY_PREFIX = 'mr_'
const KEY_BYTES = 24
/** Length of a key id, in base64url characters. 12 characters contain 72 bits. */
const KEY_ID_CHARACTERS = 12
/** Maximum number of ids to try. More than one id is needed if a client reuses one Idempotency-Key on several days. */
const MAX_KEY_IDS = 8
/**
 * How long to wait for this instance to read a change. An instance normally reads a change a few milliseconds after the
 * commit.
 */
const READABLE_WITHIN_MS = 1_000
const LOOK_EVERY_MS = 5

/** Creates the handlers of the rate limit service: docs/services/limits.md */
export function limitsHandlers({
  settings,
  limiter,
  counters,
  paths,
  isMemoryShort,
  forget,
  commands,
  tables,
  now,
}: LimitsDeps): ServiceRoutes {
  const usages = usage({ settings, counters, forget, isMemoryShort })

  async function change(from: CommandRequest, subject: string, asked: readonly unknown[], command: Omit<LimitCommand, 'actor'>) {
    const open = await commands.open(from, asked)
    return await open.run(limitFlow, subject, { ...command, actor: from.caller!.subject })
  }

  /** Waits for at most a second until this instance has read the change, so that the caller can read it here. */
  async function untilSeen(isSeen: () => boolean): Promise<void> {
    const until = performance.now() + READABLE_WITHIN_MS
    while (!isSeen() && performance.now() < until) await delay(LOOK_EVERY_MS)
  }

  async function changeRule(
    from: CommandRequest,
    ruleId: string,
    asked: readonly unknown[],
    command: Omit<LimitCommand, 'actor' | 'client'>,
  ) {
    const answer = await change(from, ruleSubject(ruleId), asked, { ...command, client: null })
    if (answer.outcome === 'exists') throw new ApiError(limitsErrors.rule_exists)
    if (answer.outcome !== 'done') {
      const message = command.action === 'delete_rule' ? 'No rule has this rule_id, or the rule is already inactive.' : undefined
      throw new ApiError(limitsErrors.rule_not_found, { message })
    }
    const rule = answer.rule!
    await untilSeen(() => (settings.rule(ruleId)?.updated_at ?? 0) >= rule.updated_at && settings.areRulesInForce())
    return rule
  }

  async function issueKey(from: CommandRequest, body: { client_id: string; tier: string; label: string }): Promise<Answer> {
    // This call comes before the command, because it may throw `not_ready`. An error after the command would lose the
    // new key, because only this answer contains it.
    settings.allClients()
    const apiKey = KEY_PREFIX + randomBytes(KEY_BYTES).toString('base64url')
    const open = await commands.open(from, ['issueApiKey', body])
    const key_hash = hashOfKey(apiKey)
    const client = { ...body, key_hash, created_at: 0, revoked_at: null }
    const issued = await decideKey(open, client, from.caller!.subject)
    await untilSeen(() => settings.clients.find(issued.key_hash) !== undefined)
    // The answer to a repeated request cannot contain the key, because the key is not stored.
    return jsonAnswer(201, { ...keyJson(issued), api_key: issued.key_hash === key_hash ? apiKey : null }, PRIVATE)
  }

  /**
   * Issues a key under the first free id. The ids to try are derived from the command, so a repetition tries the same
   * ids. An id is already in use only if the same command was executed more than a day ago.
   */
  async function decideKey(open: OpenCommand, client: Omit<LimitClient, 'key_id'>, actor: string): Promise<LimitClient> {
    for (let attempt = 0; attempt < MAX_KEY_IDS; attempt++) {
      const key_id = hashOf([open.id, attempt]).slice(0, KEY_ID_CHARACTERS)
      const command: LimitCommand = { action: 'issue_key', actor, rule: null, client: { ...client, key_id } }
      const answer = await open.run(limitFlow, keySubject(key_id), command, attempt === 0 ? undefined : `id-${attempt}`)
      if (answer.outcome === 'done') return answer.client!
    }
    throw new ApiError(errors.unavailable, {
      message: 'No free key_id was found. Try again with a new Idempotency-Key.',
      needsNewKey: true,
    })
  }

  async function revokeKey(from: CommandRequest, keyId: string): Promise<Answer> {
    const answer = await change(from, keySubject(keyId), ['revokeApiKey', keyId], { action: 'revoke_key', rule: null, client: null })
    if (answer.outcome !== 'done')
      throw new ApiError(limitsErrors.client_not_found, { message: 'No API key has this key_id, or the key is already revoked.' })
    const { key_hash } = answer.client!
    await untilSeen(() => settings.clients.find(key_hash) === undefined)
    return noContent()
  }

  function assertOwn(
    { caller, limited }: Pick<HandlerInput<undefined, undefined, undefined>, 'caller' | 'limited'>,
    clientId: string,
  ): void {
    const isOwn = limited !== undefined && limited.clientId === limitedClientId(clientId, isMemoryShort())
    if (isOwn || caller?.scopes.has('admin') === true) return
    if (caller === undefined && limited?.apiKeyId === undefined) throw unauthorized()
    throw new ApiError(errors.forbidden, { message: 'This usage belongs to another client.' })
  }

  return {
    name: 'rate limits',
    isUserId: isDecimalUserId,
    description:
      'Limits on requests. A caller is identified by its `X-Api-Key`; if it has no key, by its token or client certificate; otherwise, by its address. The `Retry-After` of a 429 `rate_limit_exceeded` says when to try again.',
    errors: Object.values(limitsErrors),
    probes: [],
    routes: [
      bind(createRuleRoute, async (input) => {
        const { rule_id } = input.body
        const command = { action: 'create_rule' as const, rule: ruleFrom(rule_id, input.body) }
        return jsonAnswer(201, ruleJson(await changeRule(input, rule_id, ['createRule', input.body], command), paths), PRIVATE)
      }),
      bind(listRulesRoute, ({ query }) => {
        const rules = settings.allRules().filter((rule) => rule.is_active || query.include_inactive)
        rules.sort((one, other) => (one.rule_id < other.rule_id ? -1 : 1))
        return jsonAnswer(
          200,
          { rules: pageOf(rules, query).map((rule) => ruleJson(rule, paths)), total: rules.length, ...pageFields(query) },
          PRIVATE,
        )
      }),
      bind(readRuleRoute, ({ params }) => {
        const rule = settings.rule(params.rule_id)
        if (rule === undefined) throw new ApiError(limitsErrors.rule_not_found)
        return jsonAnswer(200, ruleJson(rule, paths), PRIVATE)
      }),
      bind(replaceRuleRoute, async (input) => {
        const { rule_id } = input.params
        const command = { action: 'replace_rule' as const, rule: ruleFrom(rule_id, input.body) }
        return jsonAnswer(200, ruleJson(await changeRule(input, rule_id, ['replaceRule', rule_id, input.body], command), paths), PRIVATE)
      }),
      bind(deleteRuleRoute, async (input) => {
        const { rule_id } = input.params
        await changeRule(input, rule_id, ['deleteRule', rule_id], { action: 'delete_rule', rule: null })
        return noContent()
      }),
      bind(issueKeyRoute, (input) => issueKey(input, input.body)),
      bind(listKeysRoute, ({ query }) => {
        const keys = settings.allClients().filter((key) => key.revoked_at === null || query.include_revoked)
        keys.sort((one, other) => one.client_id.localeCompare(other.client_id) || one.created_at - other.created_at)
        return jsonAnswer(200, { clients: pageOf(keys, query).map(keyJson), total: keys.length, ...pageFields(query) }, PRIVATE)
      }),
      bind(revokeKeyRoute, (input) => revokeKey(input, input.params.key_id)),
      bind(usageRoute, async (input) => {
        assertOwn(input, input.params.client_id)
        return jsonAnswer(200, await usages.read(input.params.client_id), PRIVATE)
      }),
      bind(resetRoute, async ({ params }) => {
        await usages.reset(params.client_id)
        return noContent()
      }),
      bind(checkRoute, async ({ body }) => jsonAnswer(200, await checkFor(body, limiter, settings.clients, isMemoryShort), PRIVATE)),
      bind(simulateRoute, async ({ body }) => jsonAnswer(200, await simulate(ruleFrom('draft', body), tables, now()), PRIVATE)),
      bind(auditRoute, async ({ query }) => {
        const changes = await readAudit(tables, query.subject, offsetOf(query))
        const shown = changes.map((one) => ({
          ...one,
          at: isoTime(one.at),
          before: auditedJson(one.before),
          after: auditedJson(one.after),
        }))
        return jsonAnswer(200, { changes: shown }, PRIVATE)
      }),
      bind(violationsRoute, async ({ query }) => {
        const violations = await readViolations(tables, { rule: query.rule_id, client: query.client_id, ...offsetOf(query), now: now() })
        return jsonAnswer(200, { violations: violations.map((one) => ({ ...one, at: isoTime(one.at) })) }, PRIVATE)
      }),
    ],
  }
}

interface PageQuery {
  readonly page: number
  readonly limit: number
}

function offsetOf({ page, limit }: PageQuery) {
  return { offset: (page - 1) * limit, limit }
}

function pageOf<T>(all: readonly T[], query: PageQuery): readonly T[] {
  const { offset, limit } = offsetOf(query)
  return all.slice(offset, offset + limit)
}

function pageFields({ page, limit }: PageQuery): PageQuery {
  return { page, limit }
}
