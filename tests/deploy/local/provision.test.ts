import { expect, test } from 'vitest'
import { topicSpecs } from '../../../deploy/local/provision.ts'
import { trends } from '../../../pipelines/trends/topology.ts'
import { trendOutput, tweets } from '../../../schemas/trends/topics.ts'

function partitionsFor(plan: 'local' | 'production'): Record<string, number> {
  return Object.fromEntries(topicSpecs(plan).map(({ name, partitions }) => [name, partitions]))
}

test('topics for production have the partitions that are planned, those between stages too', () => {
  expect(partitionsFor('production')).toMatchObject({
    tweets: 32,
    'trend-output': 8,
    'trends-counts-repartition': 32,
    'trends-tracked-repartition': 32,
    'trends-candidates-repartition': 8,
    'limit-rules': 1,
  })
})

test('otherwise they are those that a worker would make', () => {
  const local = partitionsFor('local')
  expect(local).toMatchObject({ tweets: tweets.partitions, 'trend-output': trendOutput.partitions })
  for (const { name, partitions } of trends.declare().repartitions.values()) expect(local[name]).toBe(partitions)
})
