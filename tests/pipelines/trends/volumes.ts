import type { TestDriver } from '../../../pipelines/engine/testing.ts'
import { trendRareVolumes, trendVolumes } from '../../../schemas/trends/topics.ts'
import type { TrendRareVolumes, TrendVolume } from '../../../schemas/trends/types.ts'

/**
 * Returns the volumes published since the last call: first those of rare terms, then those of frequent terms. Leaves
 * out the rows that add to other volumes.
 */
export function publishedVolumes(driver: TestDriver): TrendVolume[] {
  return [
    ...rareRows(driver)
      .filter(({ addsAs }) => addsAs === '')
      .map(({ volume }) => volume),
    ...frequentRows(driver),
  ]
}

/** Returns the volumes that the history would show for the records published since the last call. */
export function historyOf(driver: TestDriver): TrendVolume[] {
  const greatest = new Map<string, TrendVolume>()
  const rows = [...rareRows(driver), ...frequentRows(driver).map((volume) => ({ addsAs: '', volume }))]
  for (const { addsAs, volume } of rows) {
    const key = `${volume.woeid} ${volume.minute} ${addsAs} ${volume.term}`
    if (volume.volume > (greatest.get(key)?.volume ?? 0)) greatest.set(key, volume)
  }
  const sums = new Map<string, TrendVolume>()
  for (const volume of greatest.values()) {
    const key = `${volume.woeid} ${volume.minute} ${volume.term}`
    sums.set(key, { ...volume, volume: volume.volume + (sums.get(key)?.volume ?? 0) })
  }
  return [...sums.values()]
}

function rareRows(driver: TestDriver): { addsAs: string; volume: TrendVolume }[] {
  return driver.read(trendRareVolumes).flatMap(({ value }) => {
    const { adds_as: addsAs, rows } = value as TrendRareVolumes
    return rows.flatMap(({ term, minute, woeids, volumes }) =>
      woeids.map((woeid, i) => ({ addsAs, volume: { woeid, term, minute, volume: volumes[i] } })),
    )
  })
}

function frequentRows(driver: TestDriver): TrendVolume[] {
  return driver.read(trendVolumes).flatMap(({ value }) => value ?? [])
}
