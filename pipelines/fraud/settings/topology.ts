import { fraudSettingsFlow } from '../../../schemas/fraud/settings/flow.ts'
import { initialRuleSet } from '../../../schemas/fraud/settings/initial.ts'
import { COUNTS_KEY, isVersionKey, RULES_KEY, versionKey } from '../../../schemas/fraud/settings/keys.ts'
import { fraudAudit, fraudRulesets } from '../../../schemas/fraud/topics.ts'
import type { FraudRuleSet, FraudSetting, FraudSettingsCounts } from '../../../schemas/fraud/types.ts'
import { avro, type Change, type Context, DECIDING, decideCommands, keyedStore, timerStore, topology, utf8 } from '../../engine/index.ts'
import { type Author, auditOf, authorOf } from './audit.ts'
import { decideSetting, NO_SETTING } from './decide.ts'

/**
 * Interval at which expired snoozes are removed. Expired snoozes have no effect in the meantime, because readers check
 * the expiry times themselves.
 */
const END_EVERY_MS = 1_000
/**
 * Maximum number of snoozes that one tick removes. The number is limited because a tick delays commands. The next tick
 * continues.
 */
const ENDED_PER_TICK = 200
const BY_TIME: Author = { actor: 'millrace', action: 'expire_snooze' }
const NO_COUNTS: FraudSettingsCounts = { revision: 0, lists: 0, snoozes: 0 }

/**
 * The only topology that changes the settings of fraud scoring. A decision, the changed settings and their audit record
 * are written in one transaction.
 */
export const fraudSettingsTopology = topology(
  'fraud-settings',
  function declareFraudSettings(t) {
    const settings = keyedStore('settings', { key: utf8, value: avro('fraud/FraudSetting') })
    const ends = timerStore('snooze-ends', { key: utf8 })
    /** The author of the change that is being applied. */
    let author = BY_TIME

    const deciding = decideCommands(t, {
      flow: fraudSettingsFlow,
      store: settings,
      decide(stored, command, facts) {
        author = authorOf(command)
        return decideSetting(stored, command, facts, {
          counts: countsNow(),
          rules: settings.get(RULES_KEY)?.rules ?? initialRuleSet(),
          version: (version) => settings.get(versionKey(version))?.rules ?? undefined,
        })
      },
      // Clients read only the kept versions from the view. Every API instance has all other settings in memory.
      view: (setting, key) => (isVersionKey(key) ? setting : null),
      changed: publish,
      emits: [fraudRulesets, fraudAudit],
      stores: [ends],
    })
    const { stores, emits } = deciding

    function countsNow(): FraudSettingsCounts {
      return settings.get(COUNTS_KEY)?.counts ?? NO_COUNTS
    }

    function publish({ key, before, after }: Change<FraudSetting>, ctx: Context): void {
      if (isVersionKey(key)) return
      if (key === RULES_KEY) keepVersion(before?.rules ?? undefined, after!.rules!, ctx)
      if (after?.snooze != null) ends.schedule(key, after.snooze.until)
      else if (before?.snooze != null) ends.cancel(key)
      const timestamp = ctx.now
      ctx.emit(fraudRulesets, key, after ?? null, { timestamp })
      const audit = auditOf(key, before, after, author, ctx.now)
      ctx.emit(fraudAudit, audit.subject, audit, { timestamp })
      const counts = { ...NO_SETTING, counts: countsAfter(before, after) }
      settings.put(COUNTS_KEY, counts)
      // The counts are emitted last. An API instance that has read their revision has therefore also read the change.
      ctx.emit(fraudRulesets, COUNTS_KEY, counts, { timestamp })
    }

    function countsAfter(before: FraudSetting | undefined, after: FraudSetting | undefined): FraudSettingsCounts {
      const { revision, lists, snoozes } = countsNow()
      const added = (part: 'list' | 'snooze') => Number(after?.[part] != null) - Number(before?.[part] != null)
      return { revision: revision + 1, lists: lists + added('list'), snoozes: snoozes + added('snooze') }
    }

    /** Keeps the rules of a version for roll-backs, and deletes the version that is no longer in the history. */
    function keepVersion(before: FraudRuleSet | undefined, after: FraudRuleSet, ctx: Context): void {
      // The seeded rules are kept as well, because the seeded rules of a later release may be different.
      if (before === undefined) deciding.change(versionKey(initialRuleSet().version), { ...NO_SETTING, rules: initialRuleSet() }, ctx)
      deciding.change(versionKey(after.version), { ...NO_SETTING, rules: { ...after, history: [] } }, ctx)
      const forgotten = versionKey(after.history.at(-1)!.version - 1)
      if (settings.get(forgotten) !== undefined) deciding.change(forgotten, null, ctx)
    }

    deciding.stream.tick('end-snoozes', { everyMs: END_EVERY_MS, clock: 'wall', stores, emits }, function endSnoozes(now, ctx) {
      author = BY_TIME
      for (const { key } of ends.takeDue(now, ENDED_PER_TICK)) if (settings.get(key) !== undefined) deciding.change(key, null, ctx)
    })
  },
  DECIDING,
)
