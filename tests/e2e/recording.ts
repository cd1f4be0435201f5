import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { dataFolder } from '../../scripts/config.ts'

/** The tweets of six real events; undefined where the public data sets are not there. */
export function recordingFile(): string | undefined {
  try {
    const file = join(dataFolder(), 'tweets', 't6_tweets.csv.gz')
    return existsSync(file) ? file : undefined
  } catch {
    return undefined
  }
}
