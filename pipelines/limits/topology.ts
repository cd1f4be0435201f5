import { limitFlow } from '../../schemas/limits/flow.ts'
import { limitAudit, limitClients, limitRules } from '../../schemas/limits/topics.ts'
import type { LimitSetting } from '../../schemas/limits/types.ts'
import { avro, type Change, type Context, DECIDING, decideCommands, keyedStore, topology, utf8 } from '../engine/index.ts'
import { decideLimit, seededRule } from './decide.ts'

/**
 * The only topology that changes rules and API keys. A decision, its record in the compacted topic and its audit record
 * are written in one transaction.
 */
export const limits = topology(
  'limits',
  function declareLimits(t) {
    const settings = keyedStore('settings', { key: utf8, value: avro('limits/LimitSetting') })
    decideCommands(t, {
      flow: limitFlow,
      store: settings,
      decide: decideLimit,
      view: (setting) => setting,
      changed: publish,
      emits: [limitRules, limitClients, limitAudit],
    })
  },
  DECIDING,
)

function publish({ key, before, after }: Change<LimitSetting>, ctx: Context): void {
  if (after === undefined) return
  const { rule, client, changed_by, action } = after
  const at = ctx.now
  if (rule !== null) ctx.emit(limitRules, rule.rule_id, rule, { timestamp: at })
  if (client !== null) ctx.emit(limitClients, client.key_hash, client, { timestamp: at })
  const change = { subject: key, action, actor: changed_by, at, before: auditText(before, key), after: auditText(after, key) }
  ctx.emit(limitAudit, key, change, { timestamp: at })
}

/**
 * Returns the text of a setting for the audit. Omits the hash of an API key, because the hash could identify the key.
 */
function auditText(setting: LimitSetting | undefined, key: string): string | null {
  const shown = setting?.rule ?? setting?.client ?? seededRule(key)
  if (shown === undefined) return null
  const { key_hash: _secret, ...rest } = shown as { key_hash?: string }
  return JSON.stringify(rest)
}
