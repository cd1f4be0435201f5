import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { DETAILED_CANDIDATES } from '../../api/recommendations/explain/explanation-page.ts'
import { SHOWN_RUNS } from '../../api/recommendations/explain/part.ts'
import { READ_ROWS } from '../../api/recommendations/model/group-choice.ts'
import { MOST_WHOLE } from '../../api/recommendations/model/manifest.ts'
import { MOST_NEWER_ITEMS } from '../../api/recommendations/model/newer-items.ts'
import { LET_GO_AFTER_MS } from '../../api/recommendations/model/source.ts'
import { DEFAULT_LIMIT } from '../../api/recommendations/serve/routes.ts'
import { LOW_TIME_LIMIT_MS, URGENT_TIME_LIMIT_MS } from '../../pipelines/recommendations/models/training.ts'
import { MAX_PARKED_ENTRIES, MAX_PARKED_ITEMS, PARKED_MS } from '../../pipelines/recommendations/signals/known-items.ts'
import { TRENDING_EVERY_MS } from '../../pipelines/recommendations/signals/trending.ts'
import { LONGEST } from '../../tools/recommendations/train/write-groups.ts'

const contract = readFileSync(join(import.meta.dirname, '../../docs/services/recommendations.md'), 'utf8').replaceAll(/\s+/g, ' ')

// A test of the behaviour behind most of these values would need minutes, hours or thousands of items.
test.each([
  ['1 to 50, default 20', DEFAULT_LIMIT, 20],
  ['does not finish within an hour', LOW_TIME_LIMIT_MS, 3_600_000],
  ['may take four hours', URGENT_TIME_LIMIT_MS, 4 * 3_600_000],
  ['A replaced model is closed a minute later', LET_GO_AFTER_MS, 60_000],
  ['the 20,000 most recently changed items', MOST_NEWER_ITEMS, 20_000],
  ['If the model has at most 65,536 items', MOST_WHOLE, 65_536],
  ['only the longest 16,384 vectors', LONGEST, 16_384],
  ['up to 4,000 vectors from the most promising groups', READ_ROWS, 4_000],
  ['the best 100 candidates', DETAILED_CANDIDATES, 100],
  ['the latest training runs, at most ten', SHOWN_RUNS, 10],
  ['Changed lists are published every 30 seconds', TRENDING_EVERY_MS, 30_000],
  ['are kept aside for an hour', PARKED_MS, 3_600_000],
  ['at most 1,000 unknown items', MAX_PARKED_ITEMS, 1_000],
  ['at most 200 events, pairs, views and impressions', MAX_PARKED_ENTRIES, 200],
])('the contract of recommendations promises "%s", and the code keeps this promise', (promise, value, promised) => {
  expect(contract).toContain(promise)
  expect(value).toBe(promised)
})
