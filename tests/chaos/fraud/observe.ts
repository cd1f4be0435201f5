import { Redis } from 'ioredis'
import { fraudCases } from '../../../schemas/fraud/cases/topics.ts'
import { entityKey } from '../../../schemas/fraud/entity.ts'
import { eventsOf } from '../../../schemas/fraud/events.ts'
import { profileFromBytes } from '../../../schemas/fraud/profile/bytes.ts'
import { fraudFeedback, fraudProfiles, fraudRulesets, txnScored } from '../../../schemas/fraud/topics.ts'
import type { FraudProfile } from '../../../schemas/fraud/types.ts'
import type { Topic } from '../../../schemas/topic.ts'
import { profileKeys } from '../../../state/views/fraud/profiles.ts'
import type { FraudSystem } from '../../api/fraud/system.ts'
import type { Logged } from '../log-reader.ts'
import { openLogs } from '../open-logs.ts'
import type { Evidence } from './evidence.ts'

const PAGE = 100

export type Observed = Pick<Evidence, 'logs' | 'tables' | 'shown' | 'listed'>

/** Reads what the topics, the tables, the view and the API contain about the payments of a round. */
export interface Observer {
  read(): Promise<Observed>
  close(): Promise<void>
}

/** @param prefix the prefix of the round's ids */
export async function observer({ env, rowsOf, ask, redis: { address } }: FraudSystem, prefix: string): Promise<Observer> {
  const topics = [txnScored, fraudFeedback, fraudCases, fraudRulesets, fraudProfiles]
  const reader = await openLogs(env, topics)
  const redis = new Redis(address)
  redis.on('error', () => undefined)
  const isMine = (id: string) => id.startsWith(`${prefix}-`)
  const all = <V>(topic: Topic<string, V>): Logged<V>[] => reader.of(topic).flat()

  async function tables(): Promise<Observed['tables']> {
    const mine = `WHERE startsWith(transaction_id, '${prefix}-')`
    const [transactions, features, feedback, cases] = await Promise.all([
      rowsOf(`SELECT transaction_id, request_id, decision, risk_score FROM fraud_transactions FINAL ${mine}`),
      rowsOf(`SELECT transaction_id FROM fraud_features FINAL ${mine}`),
      rowsOf(`SELECT transaction_id, verdict, reporter FROM fraud_feedback FINAL ${mine}`),
      rowsOf(`SELECT transaction_id, toString(case_id) AS case_id, status FROM fraud_cases FINAL ${mine}`),
    ])
    const found = { transactions, features: features.map(({ transaction_id }) => transaction_id), feedback, cases }
    return found as unknown as Observed['tables']
  }

  async function shown(keys: readonly string[]): Promise<Map<string, FraudProfile>> {
    const names = keys.map((key) => profileKeys(0, key).profile)
    const values = names.length === 0 ? [] : await redis.mgetBuffer(names)
    return new Map(
      values.flatMap((bytes, index) => {
        const profile = bytes === null ? undefined : profileFromBytes(bytes)
        return profile === undefined ? [] : [[keys[index], profile] as const]
      }),
    )
  }

  /** Lists the cases of the round. The API returns the newest cases first, so cases of earlier rounds come last. */
  async function listed(): Promise<string[]> {
    const found: string[] = []
    for (let page = 1; ; page++) {
      const { status, body } = await ask('GET', `cases?page=${page}&limit=${PAGE}`)
      if (status !== 200) throw new Error(`cases: ${status} ${JSON.stringify(body)}`)
      const mine = (body.cases as { transaction_id: string }[]).map(({ transaction_id }) => transaction_id).filter(isMine)
      found.push(...mine)
      if (mine.length === 0 || body.cases.length < PAGE) return found
    }
  }

  return {
    async read() {
      await reader.catchUp()
      const scored = all(txnScored).filter(({ value }) => isMine(value.request.transaction_id))
      const keys = new Set(scored.flatMap(({ value }) => eventsOf(value.request).map(({ kind, entityId }) => entityKey(kind, entityId))))
      const profiles = new Map(all(fraudProfiles).flatMap(({ key, value }) => (keys.has(key) && value !== null ? [[key, value]] : [])))
      return {
        logs: {
          scored,
          feedback: all(fraudFeedback).filter(({ key }) => isMine(key)),
          cases: all(fraudCases).filter(({ value }) => isMine(value?.view?.transaction.transaction_id ?? '')),
          settings: all(fraudRulesets),
          profiles,
        },
        tables: await tables(),
        shown: await shown([...keys]),
        listed: await listed(),
      }
    },
    async close() {
      redis.disconnect()
      await reader.close()
    },
  }
}
