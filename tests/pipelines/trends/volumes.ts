import type { TestDriver } from '../../../pipelines/engine/testing.ts'
import { trendRareVolumes, trendVolumes } from '../../../schemas/trends/topics.ts'
import type { TrendVolume } from '../../../schemas/trends/types.ts'

/** Returns the volumes published since the last call: those of rare terms, then those of frequent ones. */
export function publishedVolumes(driver: TestDriver): TrendVolume[] {
  const rare = driver.read(trendRareVolumes).flatMap(({ value }) => value?.rows ?? [])
  const ofRare = rare.flatMap(({ term, minute, woeids, volumes }) =>
    woeids.map((woeid, i) => ({ woeid, term, minute, volume: volumes[i] })),
  )
  return [...ofRare, ...driver.read(trendVolumes).flatMap(({ value }) => value ?? [])]
}
