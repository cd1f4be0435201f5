import { expect, onTestFinished, test } from 'vitest'
import { testStack } from '../../stack/index.ts'
import { privateRedisCluster } from '../../state/views/redis-cluster.ts'
import { aliasRace } from './alias-race.ts'
import { send, startLinksSystem, visit } from './system.ts'

const TEST_TIMEOUT_MS = 300_000
const NODES = 3
const CALLERS = 200
const LINKS = 30

test(
  'on a Redis Cluster of three nodes, results arrive, links on all nodes are readable, and one caller wins an alias even if a worker is killed',
  async () => {
    const system = await startLinksSystem({ redisCluster: await privateRedisCluster(NODES), registry: await testStack().registry() })
    onTestFinished(() => system.folder.finish())
    const urls = Array.from({ length: LINKS }, (_, index) => ({ long_url: `https://example.com/${index}` }))
    const key = { 'idempotency-key': 'all answers' }
    const made = await send(system.apis[0], 'POST', '/api/v1/urls/bulk', { urls }, key)
    const codes: string[] = made.body.results.map((result: { short_code: string }) => result.short_code)
    for (const [index, code] of codes.entries())
      expect(await visit(system.apis[index % 2], code)).toMatchObject({ status: 302, location: `https://example.com/${index}` })
    expect((await send(system.apis[1], 'POST', '/api/v1/urls/bulk', { urls }, key)).body).toEqual(made.body)

    const race = aliasRace(system, 'wanted')
    race.enter(CALLERS / 2)
    await system.worker.kill()
    race.enter(CALLERS / 2)
    await system.worker.restart()
    await race.finish()
  },
  TEST_TIMEOUT_MS,
)
