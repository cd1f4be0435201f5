import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { isBot } from '../../pipelines/links/clicks/user-agent.ts'

/** Recorded user agents of crawlers and browsers. */
export interface UserAgents {
  readonly crawlers: readonly string[]
  readonly browsers: readonly RecordedBrowser[]
}

export interface RecordedBrowser {
  readonly userAgent: string
  readonly deviceCategory: string
}

export interface ConfusionMatrix {
  /** Number of crawlers that were classified as bots. */
  readonly caught: number
  readonly missed: readonly string[]
  /** Number of browsers that were classified as bots. */
  readonly wronglyCaught: number
  readonly letThrough: number
}

/** @param folder contains crawler-user-agents.json and user-agents.json.gz */
export function readUserAgents(folder: string, readFile: (path: string) => Buffer): UserAgents {
  const crawlers = JSON.parse(readFile(join(folder, 'crawler-user-agents.json')).toString()) as { instances: string[] }[]
  const browsers = JSON.parse(gunzipSync(readFile(join(folder, 'user-agents.json.gz'))).toString()) as RecordedBrowser[]
  return { crawlers: crawlers.flatMap(({ instances }) => instances), browsers }
}

export function confusionMatrix({ crawlers, browsers }: UserAgents): ConfusionMatrix {
  const missed = crawlers.filter((userAgent) => !isBot(userAgent))
  const wronglyCaught = browsers.filter(({ userAgent }) => isBot(userAgent)).length
  return { caught: crawlers.length - missed.length, missed, wronglyCaught, letThrough: browsers.length - wronglyCaught }
}
