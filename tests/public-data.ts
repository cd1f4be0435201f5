import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'vitest'
import { dataFolder } from '../scripts/config.ts'

interface PublicDataSet {
  /** The data and its publisher, for readers who want to fetch it. */
  readonly origin: string
  /** Path below the folder that MILLRACE_DATA names. */
  readonly path: string
}

/** The public data sets that tests read. They are not part of the repository. */
const DATA_SETS = {
  tweets: { origin: 'CrisisLexT6, 60,082 tweets about six events of 2012 and 2013, from crisislex.org', path: 'tweets/t6_tweets.csv.gz' },
  userAgents: {
    origin: "monperrus' crawler-user-agents from GitHub and Intoli's user-agents from npm",
    path: 'user-agents',
  },
  languages: { origin: 'the test files of highlight.js (test/detect and test/markup) from GitHub', path: 'languages/hljs-tests.tar.gz' },
} as const satisfies Record<string, PublicDataSet>

export type DataSetName = keyof typeof DATA_SETS

/** The path of a data set, or undefined if it is missing. */
export function publicData(name: DataSetName): string | undefined {
  try {
    const path = join(dataFolder(), DATA_SETS[name].path)
    return existsSync(path) ? path : undefined
  } catch {
    return undefined
  }
}

/**
 * A test that needs a public data set. If the set is missing, the test is skipped with a reason that names the set and
 * its source. Such tests are in files named *.data.test.ts, beside tests that prove the same on small generated data.
 * @param body gets the path of the data set
 */
export function dataTest(name: DataSetName, title: string, body: (path: string) => void | Promise<void>, timeoutMs?: number): void {
  test(
    title,
    async ({ skip }) => {
      const path = publicData(name)
      if (path === undefined) return skip(missing(DATA_SETS[name]))
      await body(path)
    },
    timeoutMs,
  )
}

function missing({ origin, path }: PublicDataSet): string {
  return `needs ${origin}; MILLRACE_DATA names the folder that contains it as ${path}`
}
