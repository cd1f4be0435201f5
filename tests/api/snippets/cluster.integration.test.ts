import { expect, onTestFinished, test } from 'vitest'
import { waitUntil } from '../../../deploy/local/wait.ts'
import { privateRedisCluster } from '../../state/views/redis-cluster.ts'
import { SOON, snippetStack } from './stack.ts'

const NODES = 3
const TEST_TIMEOUT_MS = 300_000
const SNIPPETS = 12

test(
  'snippets work on a Redis Cluster of three nodes, and stay readable there while Kafka is unreachable',
  async () => {
    const stack = await snippetStack({ redisCluster: await privateRedisCluster(NODES) })
    onTestFinished(() => stack.finish())
    const get = (path: string, headers: Record<string, string>, api: number) => stack.send('GET', path, { headers, api: stack.apis[api] })

    // Every instance can read snippets, lists and versions. Together, the instances grant each remaining read of a
    // burning snippet once.
    const owner = await stack.bearer('42')
    const titles = Array.from({ length: SNIPPETS }, (_, index) => `number ${index}`)
    const made = await Promise.all(titles.map((title) => stack.create({ content: `content of ${title}`, title }, owner)))
    const anonymous = await Promise.all(titles.map((title) => stack.create({ content: title })))
    for (const [index, { body }] of [...made, ...anonymous].entries()) {
      const content = index < SNIPPETS ? `content of ${titles[index]}` : titles[index - SNIPPETS]
      expect((await get(`/api/v1/pastes/${body.paste_id}`, {}, index % 2)).body.content).toBe(content)
    }
    const version = await stack.create({ content: 'newer' }, owner, `/api/v1/pastes/${made[0].body.paste_id}/versions`)
    expect((await get(`/api/v1/pastes/${made[0].body.paste_id}`, owner, 1)).body.versions).toHaveLength(2)
    const list = await get('/api/v1/users/42/pastes?sort=title_asc', owner, 1)
    expect(list.body.total).toBe(SNIPPETS + 1)
    expect(list.body.pastes.map(({ title }: { title: string }) => title)).toEqual([...titles, 'number 0'].sort())
    expect((await stack.send('DELETE', `/api/v1/pastes/${version.body.paste_id}`, { headers: owner })).status).toBe(204)
    expect((await get('/api/v1/users/42/pastes', owner, 1)).body.total).toBe(SNIPPETS)

    const burning = await stack.create({ content: 'twice', burn_after_reads: 2 })
    const reads = await Promise.all(titles.map((_, index) => get(`/api/v1/pastes/${burning.body.paste_id}`, {}, index % 2)))
    expect(reads.filter(({ status }) => status === 200)).toHaveLength(2)

    // Without Kafka, snippets and lists stay readable, and a change gets a 503 with a command id. When Kafka is back,
    // repeating the request with that id makes the change exactly once.
    const other = await stack.bearer('43')
    const kept = await stack.create({ content: 'still here' }, other)
    const last = await stack.create({ content: 'one read', burn_after_reads: 1 })
    await stack.kafka.stop()
    for (const api of [0, 1]) {
      expect((await get(`/api/v1/pastes/${kept.body.paste_id}`, {}, api)).body.content).toBe('still here')
      expect((await get(`/api/v1/pastes/${kept.body.paste_id}/raw`, {}, api)).text).toBe('still here')
      expect((await get('/api/v1/users/43/pastes', other, api)).body.total).toBe(1)
    }
    const refused = await Promise.all([
      stack.create({ content: 'later' }, other),
      stack.send('DELETE', `/api/v1/pastes/${kept.body.paste_id}`, { headers: other }),
      get(`/api/v1/pastes/${last.body.paste_id}`, {}, 0),
    ])
    for (const { status, headers, body } of refused) {
      expect([status, body.error]).toEqual([503, 'unavailable'])
      expect(headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
    }
    const id = { 'idempotency-key': refused[0].body.command_id as string }
    await stack.kafka.start()
    await waitUntil(async () => (await stack.create({ content: 'later' }, { ...other, ...id })).status === 201, {
      what: 'the creation to be done',
      ...SOON,
    })
    await stack.create({ content: 'later' }, { ...other, ...id })
    expect((await get('/api/v1/users/43/pastes', other, 1)).body.total).toBe(2)
  },
  TEST_TIMEOUT_MS,
)
