import { existsSync } from 'node:fs'
import { join } from 'node:path'

export interface DataSet {
  /** Content and publisher of the data set, for people who have to download it. */
  readonly origin: string
  /** Path below the folder that MILLRACE_DATA names. */
  readonly path: string
}

/** The public data sets that the project reads. They are not part of the repository. */
export const DATA_SETS = {
  tweets: { origin: 'CrisisLexT6, 60,082 tweets about six events of 2012 and 2013, from crisislex.org', path: 'tweets/t6_tweets.csv.gz' },
  payments: {
    origin: 'the simulated card payments of the Fraud Detection Handbook by Le Borgne and others, from GitHub',
    path: 'fraud/transactions.csv.gz',
  },
  languages: { origin: 'the test files of highlight.js (test/detect and test/markup) from GitHub', path: 'languages/hljs-tests.tar.gz' },
  userAgents: {
    origin: "monperrus' crawler-user-agents from GitHub and Intoli's user-agents from npm",
    path: 'user-agents',
  },
  profiles: {
    origin: "59,946 profiles of OkCupid's users around San Francisco by Kim and Escobedo-Land, from the Journal of Statistics Education",
    path: 'profiles/profiles_revised.csv.gz',
  },
  searchJudgments: {
    origin: 'titles, queries and judgments of the Kaggle competition "Home Depot Product Search Relevance"',
    path: 'product-search/judgments.csv.gz',
  },
  movieLens: { origin: 'the ratings of MovieLens 100K by GroupLens, in the layout of RecBole', path: 'movielens' },
  places: { origin: "the trend locations of Twitter's API and cities1000 of geonames.org", path: 'places' },
} as const satisfies Record<string, DataSet>

export type DataSetName = keyof typeof DATA_SETS

/**
 * Returns the path of a data set in the data folder.
 * @throws Error that names the missing data set and its origin
 */
export function dataSet(folder: string, name: DataSetName): string {
  const { origin, path } = DATA_SETS[name]
  const file = join(folder, path)
  if (!existsSync(file)) throw new Error(`${file} is missing. Get ${origin}, and set MILLRACE_DATA to the folder that contains ${path}`)
  return file
}
