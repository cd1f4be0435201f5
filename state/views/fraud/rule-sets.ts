import { fraudSettingsFlow } from '../../../schemas/fraud/settings/flow.ts'
import { isVersionKey, versionKey } from '../../../schemas/fraud/settings/keys.ts'
import type { FraudRule, FraudSetting } from '../../../schemas/fraud/types.ts'
import { NOT_CAUGHT_UP, type View, type ViewReader, viewTag, withCaughtUp } from '../view.ts'

/**
 * The view has the name of the flow, because it also contains the results of the flow's commands. A result is stored
 * together with the change that it reports, or after it, so a caller that has the result can already read the change.
 */
const VIEW = fraudSettingsFlow.name
/** The topic has one partition. */
const PARTITION = 0

/**
 * The versions of the rule set that can be restored. Fed by `fraud-settings-decisions`.
 *
 * | key | value |
 * |---|---|
 * | `{fraud-settings:0}:version:<n>` | the rules of the version, as JSON |
 */
export const fraudRuleSetsView: View<string, FraudSetting> = {
  name: VIEW,
  operationsFor(partition, key, setting) {
    if (!isVersionKey(key)) return []
    const at = `${viewTag(VIEW, partition)}:${key}`
    return setting?.rules == null ? [{ op: 'del', key: at }] : [{ op: 'set', key: at, value: JSON.stringify(setting.rules.rules) }]
  },
}

/**
 * Returns all rules of a version, including those that are disabled; undefined if the version is not kept. The version
 * with the initial rules is kept only after the first change.
 */
export async function readRuleSetVersion(
  reader: Pick<ViewReader, 'get'>,
  version: number,
): Promise<readonly FraudRule[] | undefined | typeof NOT_CAUGHT_UP> {
  const key = `${viewTag(VIEW, PARTITION)}:${versionKey(version)}`
  const found = await withCaughtUp(reader as ViewReader, VIEW, PARTITION, reader.get(key))
  if (found === NOT_CAUGHT_UP) return found
  return found === null ? undefined : (JSON.parse(found) as FraudRule[])
}
