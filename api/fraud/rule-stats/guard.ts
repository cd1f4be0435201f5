import { randomUUID } from 'node:crypto'
import type { Registry } from 'prom-client'
import type { Rule } from '../../../schemas/fraud/rules/rule.ts'
import type { RuleSet } from '../../../schemas/fraud/rules/rule-set.ts'
import { addBlocks, BLOCKS_WINDOW_MS, type BlockCounts, claimGuard, releaseGuard } from '../../../state/views/fraud/recent-blocks.ts'
import type { ViewScripts } from '../../../state/views/view.ts'
import type { Logger } from '../../kit/logging.ts'
import { counter, gauge } from '../../kit/metrics.ts'
import type { ReadinessProbe } from '../../kit/readiness.ts'
import type { ScoredActivity } from './activity.ts'

/** Watches the share of blocked transactions. Raises an alert if the share is so high that a rule is probably wrong. */
export interface BlockGuard {
  /** Counts a transaction. */
  scored(activity: Pick<ScoredActivity, 'winner' | 'verdict'>): void
  /** Publishes the counts of this process, and checks the counts of all processes. Never throws. */
  tick(): Promise<void>
  /** Reports the causes of the blocks while the alert lasts. */
  readonly probe: ReadinessProbe
}

export interface BlockGuardDeps {
  readonly scripts: ViewScripts
  readonly registry: Registry
  readonly log: Logger
  /** Epoch ms. */
  now(): number
  ruleSet(): RuleSet
  /** Puts a rule into shadow mode. If undefined, the guard only raises the alert. */
  readonly moveToShadow: ((rule: Rule) => Promise<void>) | undefined
}

/**
 * Maximum share of blocked transactions. Normally about 0.3 % are blocked. If the share is higher than this maximum, a
 * rule is probably wrong.
 */
const MAX_BLOCKED_SHARE = 0.01
/**
 * Minimum number of transactions in five minutes. With fewer transactions, a few blocks would already exceed the share.
 */
const MIN_TRANSACTIONS = 1_000
/** Maximum number of causes in a message. */
const MAX_NAMED = 10
const UNKNOWN = 'unknown'
const PERCENT = 100

export function blockGuard({ scripts, registry, log, now, ruleSet, moveToShadow }: BlockGuardDeps): BlockGuard {
  let scored = 0
  let blocked = new Map<string, number>()
  let recent: BlockCounts = { scored: 0, blocked: new Map() }
  let alert: string | undefined
  /** Epoch ms of the first failure since counts were last published or dropped; undefined if there was none. */
  let failingSince: number | undefined
  /**
   * Token of all claims until a move succeeds. If the answer to a claim or a release was lost, Redis may still hold the
   * claim. The next tick then recognises the claim by its token.
   */
  let attempt = randomUUID()
  let isActing = false
  /** The rule whose last move failed. The move may still take effect, because Kafka may only have been slow. */
  let failed: Rule | undefined
  gauge(registry, 'fraud_blocked_ratio', 'Share of blocked transactions in the last five minutes, over all API processes', () =>
    shareOf(recent),
  )
  gauge(registry, 'fraud_blocks_alert', '1 while so many transactions are blocked that a rule is probably wrong', () =>
    Number(alert !== undefined),
  )
  const moved = counter(registry, 'fraud_guard_moves_total', 'Rules that the guard of this process has put into shadow mode')

  /** Returns what this process has counted since the last call. */
  function take(): BlockCounts {
    const taken = { scored, blocked }
    scored = 0
    blocked = new Map()
    return taken
  }

  /**
   * Counts again what could not be published, so that a slow Redis hides no blocks. If Redis stored the counts but
   * answered too late, they are published twice, which hardly changes the share. After a whole window of failures, the
   * counts are too old and are dropped.
   */
  function keep(counts: BlockCounts): void {
    failingSince ??= now()
    if (now() - failingSince >= BLOCKS_WINDOW_MS) {
      failingSince = undefined
      return
    }
    scored += counts.scored
    for (const [cause, count] of counts.blocked) blocked.set(cause, (blocked.get(cause) ?? 0) + count)
  }

  async function judge(): Promise<void> {
    const share = shareOf(recent)
    if (recent.scored < MIN_TRANSACTIONS || share <= MAX_BLOCKED_SHARE) {
      if (alert !== undefined) log.info({ share, transactions: recent.scored }, 'fraud_blocks_normal')
      alert = undefined
      return
    }
    if (alert === undefined) {
      log.error({ share, transactions: recent.scored, blocked: Object.fromEntries(strongest(recent)) }, 'fraud_blocks_too_many')
    }
    alert = describe(recent)
    // A slow move may outlast a tick. Without `isActing`, the next tick would repeat the claim with the same token and
    // move another rule.
    if (moveToShadow === undefined || isActing) return
    isActing = true
    await act(moveToShadow).finally(() => {
      isActing = false
    })
  }

  /**
   * Puts the most recently changed blocking rule into shadow mode, if rules alone block more than the maximum share.
   * Blocks by the blocklist or the models do not count here, because a change to the rules would not reduce them.
   */
  async function act(move: (rule: Rule) => Promise<void>): Promise<void> {
    const { live, shadow } = ruleSet()
    const blocking = live.map(({ rule }) => rule).filter((rule) => rule.action === 'BLOCK' && recent.blocked.has(causeOf(rule)))
    if (failed !== undefined && !blocking.map(causeOf).includes(causeOf(failed))) {
      const { rule_id } = failed
      // If the failed move has taken effect after all, its claim must stay, as it does after a success.
      if (shadow.some(({ rule }) => rule.rule_id === rule_id)) return succeeded()
      // The rule no longer blocks, usually because somebody has changed it. A changed rule is not moved, and the claim
      // of the refused move permits the move of another rule.
      failed = undefined
    }
    const byRules = blocking.reduce((total, rule) => total + recent.blocked.get(causeOf(rule))!, 0)
    if (byRules / recent.scored <= MAX_BLOCKED_SHARE) return
    const newest = blocking.reduce((found, rule) => (rule.updated_at > found.updated_at ? rule : found))
    // The blocks by this rule raise the share until they have left the window. During this time, the claim prevents all
    // processes from putting another rule into shadow mode.
    if (!(await claimGuard(scripts, attempt, BLOCKS_WINDOW_MS))) return
    try {
      await move(newest)
      succeeded()
      moved.inc()
      log.error({ rule: newest.rule_id, share: shareOf(recent) }, 'fraud_guard_moved_rule_to_shadow')
    } catch (error) {
      log.error({ rule: newest.rule_id, reason: (error as Error).message }, 'fraud_guard_cannot_act')
      // The claim is kept for one more attempt. Otherwise, another rule could be moved before this move takes effect.
      const isFirst = failed === undefined
      failed = isFirst ? newest : undefined
      if (!isFirst) await releaseGuard(scripts, attempt)
    }
  }

  function succeeded(): void {
    failed = undefined
    attempt = randomUUID()
  }

  return {
    scored({ winner, verdict: { decision, reason } }) {
      scored++
      if (decision !== 'BLOCK') return
      const cause = reason === 'rule' && winner !== undefined ? causeOf(winner) : (reason ?? UNKNOWN)
      blocked.set(cause, (blocked.get(cause) ?? 0) + 1)
    },
    async tick() {
      const counts = take()
      try {
        recent = await addBlocks(scripts, now(), counts)
        failingSince = undefined
      } catch (error) {
        keep(counts)
        log.debug({ reason: (error as Error).message }, 'fraud_guard_waits')
        return
      }
      await judge().catch((error: Error) => log.debug({ reason: error.message }, 'fraud_guard_waits'))
    },
    probe: { name: 'fraud blocks', optional: true, check: async () => alert },
  }
}

function shareOf({ scored, blocked }: BlockCounts): number {
  const sum = [...blocked.values()].reduce((total, count) => total + count, 0)
  return scored === 0 ? 0 : sum / scored
}

/**
 * Returns the cause under which blocks of a rule are counted. The cause includes the time of the rule's last update,
 * because blocks by an earlier version say nothing about the current version.
 */
function causeOf({ rule_id, updated_at }: Rule): string {
  return `rule:${updated_at}:${rule_id}`
}

/** Returns a readable name for a cause, such as `rule <rule_id>`. */
function nameOf(cause: string): string {
  return cause.replace(/^rule:\d+:/, 'rule ')
}

/** Returns the causes with the most blocks, in descending order. Blocks by all versions of a rule are added up. */
function strongest({ blocked }: BlockCounts): [name: string, count: number][] {
  const byName = new Map<string, number>()
  for (const [cause, count] of blocked) byName.set(nameOf(cause), (byName.get(nameOf(cause)) ?? 0) + count)
  return [...byName].sort(([, one], [, other]) => other - one).slice(0, MAX_NAMED)
}

function describe(counts: BlockCounts): string {
  const causes = strongest(counts).map(([name, count]) => `${name} (${count})`)
  const percent = (shareOf(counts) * PERCENT).toFixed(1)
  return `${percent} % of ${counts.scored} transactions were blocked in five minutes, by ${causes.join(', ')}`
}
