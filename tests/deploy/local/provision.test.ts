import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { topicSpecs } from '../../../deploy/local/provision.ts'
import { declaredTopologies } from '../../../pipelines/service.ts'
import { pipelineServices } from '../../../pipelines/services.ts'
import { fraudProfiles } from '../../../schemas/fraud/topics.ts'
import { trendOutput, tweets } from '../../../schemas/trends/topics.ts'

const topologies = pipelineServices.flatMap(declaredTopologies)

function partitionsFor(plan: 'local' | 'production', existing?: ReadonlyMap<string, number>): Record<string, number> {
  return Object.fromEntries(topicSpecs(plan, existing).map(({ name, partitions }) => [name, partitions]))
}

test('topics for production have the planned partitions, including internal topics of topologies', () => {
  expect(partitionsFor('production')).toMatchObject({
    tweets: 32,
    'trend-output': 8,
    'trends-drawn-cells-repartition': 32,
    'trends-listed-repartition': 32,
    'trends-reports-repartition': 8,
    'trends-user-terms-changelog': 32,
    'trends-rare-tweets-changelog': 32,
    'trends-since-changelog': 8,
    'links-records-changelog': 64,
    'limit-rules': 1,
    'txn.scored': 64,
    'fraud-feedback': 16,
    'fraud-profiles-changes-repartition': 128,
    'fraud-profiles-counted-changelog': 64,
    'fraud-profiles-profiles-changelog': 128,
    'product.created': 64,
    'products-periods-changelog': 64,
  })
})

test('no topic is created twice, although one topic is both a changelog and an input of other topologies', () => {
  const names = topicSpecs('production').map(({ name }) => name)
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([])
  expect(topicSpecs('production').find(({ name }) => name === fraudProfiles.name)?.config).toHaveProperty(['delete.retention.ms'])
})

test('with the local plan, topics have as many partitions as when a worker creates them', () => {
  const local = partitionsFor('local')
  expect(local).toMatchObject({ tweets: tweets.partitions, 'trend-output': trendOutput.partitions })
  for (const topology of topologies) {
    for (const { name, partitions } of topology.declare().repartitions.values()) expect(local[name]).toBe(partitions)
  }
})

test('the plan has the repartition topics and changelogs of every topology', () => {
  const known = [
    'catalog',
    'clicks',
    'fraud-blocklist',
    'fraud-cases',
    'fraud-profiles',
    'fraud-settings',
    'inventory',
    'item-signals',
    'limits',
    'links',
    'match-pairs',
    'match-profiles',
    'match-users',
    'products',
    'reservations',
    'skus',
    'snippet-views',
    'snippets',
    'trends',
    'user-features',
  ]
  expect(topologies.map(({ name }) => name).sort()).toEqual(known)
  const names = new Set(topicSpecs('production').map(({ name }) => name))
  for (const topology of topologies) {
    const { repartitions, stores } = topology.declare()
    for (const topic of repartitions.values()) expect(names).toContain(topic.name)
    for (const store of stores.values()) if (store.logged) expect(names).toContain(`${topology.name}-${store.name}-changelog`)
  }
})

test('existing topics keep their partition counts, and changelogs get the partition counts of their sources', () => {
  const existing = new Map([
    ['tweets', 5],
    ['trends-drawn-cells-repartition', 3],
    ['trends-listed-repartition', 3],
  ])
  expect(partitionsFor('production', existing)).toMatchObject({
    tweets: 5,
    'trends-drawn-cells-repartition': 3,
    'trends-user-terms-changelog': 5,
    'trends-rare-tweets-changelog': 3,
    'trends-reports-repartition': 8,
  })
})

test('topologies can be declared without secrets and without creating files', () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-declare-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  vi.stubEnv('MILLRACE_HOME', folder)
  vi.stubEnv('NODE_ENV', 'production')
  onTestFinished(() => void vi.unstubAllEnvs())
  expect(pipelineServices.flatMap(declaredTopologies)).toHaveLength(topologies.length)
  expect(topicSpecs('production').length).toBeGreaterThan(50)
  expect(readdirSync(folder)).toEqual([])
})

test('the topics of snippets that must erase deleted data do so within an hour', () => {
  const all = topicSpecs('local').filter(({ erases }) => erases)
  // Checks only the topics of snippets. tests/schemas/matches/topics.test.ts checks the topics of the match feed.
  const erasing = all.filter(({ name }) => name.startsWith('snippet'))
  expect(all.length).toBeGreaterThan(erasing.length)
  expect(erasing.map(({ name }) => name).sort()).toEqual([
    'snippet-blobs',
    'snippet-commands',
    'snippet-decisions',
    'snippet-texts',
    'snippets-blobs-changelog',
    'snippets-records-changelog',
  ])
  for (const { name, config } of erasing) {
    const limit = Number(config?.['max.compaction.lag.ms'] ?? config?.['retention.ms'])
    expect(limit + Number(config?.['segment.ms']), name).toBeLessThan(3_600_000)
  }
})
