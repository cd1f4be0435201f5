import { expect, test } from 'vitest'
import { nextCaseId } from '../../../../schemas/fraud/cases/case-id.ts'
import type { FraudCase, FraudCaseStatus } from '../../../../schemas/fraud/types.ts'
import { FRAUD_CASES_VIEW, fraudCasesView, listCases, readCase, readCases } from '../../../../state/views/fraud/cases.ts'
import { NOT_CAUGHT_UP } from '../../../../state/views/view.ts'
import { review } from '../../../pipelines/fraud/case-commands.ts'
import { NOON } from '../../../schemas/fraud/payments.ts'
import { fakeRedis } from '../fake-redis.ts'

const PARTITIONS = 3

function caseAt(partition: number, at: number, changes: Partial<FraudCase> = {}): FraudCase {
  const case_id = nextCaseId(undefined, at, partition)
  return {
    case_id,
    version: 1,
    transaction: review({ id: case_id }),
    status: 'OPEN',
    assigned_to: null,
    fraud_type: null,
    notes: '',
    verdict: null,
    verdict_at: null,
    created_at: at,
    updated_at: at,
    resolved_at: null,
    is_archived: false,
    history: [],
    ...changes,
  }
}

function world() {
  const redis = fakeRedis()
  redis.caughtUp(FRAUD_CASES_VIEW, PARTITIONS)
  function put(partition: number, id: string, found: FraudCase | null): void {
    const heldKey = fraudCasesView.heldKey!(partition, id, found)!
    redis.apply(fraudCasesView.operationsFor(partition, id, found, { held: redis.held(heldKey), now: NOON }))
  }
  const list = async (statuses: readonly FraudCaseStatus[], assignedTo?: string, count = 10) => {
    const found = await listCases(redis.reader, PARTITIONS, { statuses, assignedTo, count })
    if (found === NOT_CAUGHT_UP) throw new Error('not caught up')
    return found
  }
  return { redis, put, list }
}

test('the lists of all partitions and statuses are merged, newest first', async () => {
  const { put, list, redis } = world()
  const cases = [caseAt(0, NOON), caseAt(2, NOON + 1, { status: 'ESCALATED' }), caseAt(1, NOON + 2), caseAt(0, NOON + 3)]
  for (const [index, partition] of [0, 2, 1, 0].entries()) put(partition, `t${index}`, cases[index])
  const ids = cases.map(({ case_id }) => case_id).reverse()
  expect(await list(['OPEN', 'ESCALATED'])).toEqual({ total: 4, ids })
  expect(await list(['OPEN', 'ESCALATED'], undefined, 2)).toEqual({ total: 4, ids: ids.slice(0, 2) })
  expect(await list(['OPEN'])).toEqual({ total: 3, ids: [ids[0], ids[1], ids[3]] })
  expect(await readCases(redis.reader, [...ids, '1'])).toEqual([...cases].reverse())
})

test('a case is only in the lists of its status and analyst, until it is archived or deleted', async () => {
  const { put, list, redis } = world()
  const opened = caseAt(1, NOON)
  const ids = [opened.case_id]
  put(1, 't', opened)
  put(1, 't', { ...opened, assigned_to: 'ann' })
  expect([await list(['OPEN']), await list(['OPEN'], 'ann'), await list(['IN_REVIEW'])].map(({ total }) => total)).toEqual([1, 1, 0])
  put(1, 't', { ...opened, assigned_to: 'bob', status: 'IN_REVIEW' })
  expect([await list(['OPEN']), await list(['OPEN'], 'ann'), await list(['IN_REVIEW'], 'ann')].map(({ total }) => total)).toEqual([0, 0, 0])
  expect(await list(['IN_REVIEW'], 'bob')).toEqual({ total: 1, ids })
  const closed: FraudCase = { ...opened, status: 'FALSE_POSITIVE' }
  for (const gone of [{ ...closed, is_archived: true }, null]) {
    put(1, 't', closed)
    expect(await readCase(redis.reader, 1, opened.case_id)).toEqual(closed)
    put(1, 't', gone)
    expect((await list(['FALSE_POSITIVE', 'IN_REVIEW'])).total).toBe(0)
    expect(await readCase(redis.reader, 1, opened.case_id)).toBeUndefined()
  }
})

test('while the view has not caught up, reads return NOT_CAUGHT_UP instead of a missing case or an empty list', async () => {
  const { redis } = world()
  redis.flush()
  expect(await readCase(redis.reader, 0, '1')).toBe(NOT_CAUGHT_UP)
  expect(await listCases(redis.reader, PARTITIONS, { statuses: ['OPEN'], assignedTo: undefined, count: 1 })).toBe(NOT_CAUGHT_UP)
})

test('if Redis is emptied while cases are listed, no part of the list is missing', async () => {
  const { redis, put } = world()
  const found = caseAt(0, NOON)
  put(0, found.case_id, found)
  const emptiedAfterCounting = {
    ...redis.reader,
    async zcard(key: string) {
      const total = await redis.reader.zcard(key)
      redis.flush()
      return total
    },
  }
  const listed = await listCases(emptiedAfterCounting, PARTITIONS, { statuses: ['OPEN'], assignedTo: undefined, count: 1 })
  expect(listed).toEqual({ total: 1, ids: [found.case_id] })
})
