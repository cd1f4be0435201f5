import type { Click, ClickDetails } from '../../../schemas/links/types.ts'
import { countryReader } from './country.ts'
import { referrerReader } from './referrer.ts'
import type { ClickSettings } from './settings.ts'
import { userAgentReader } from './user-agent.ts'
import { visitorHasher } from './visitor.ts'

/** The settings for reading clicks, including the visitor secret that is in use. */
export interface ClickReaderOptions extends ClickSettings {
  readonly visitorSecret: string
}

/**
 * Derives the details of a click. They contain the visitor's address only if `keepAddresses` is set.
 * @param time the click's timestamp, epoch ms
 */
export type ClickReader = (click: Click, time: number) => ClickDetails

export function clickReader({ visitorSecret, countryDatabase, keepAddresses }: ClickReaderOptions): ClickReader {
  const readUserAgent = userAgentReader()
  const readReferrer = referrerReader()
  const readCountry = countryReader(countryDatabase)
  const hashVisitor = visitorHasher(visitorSecret)

  return function readClick({ short_code, ip, user_agent, referrer, country }, time) {
    const { bot, browser, device } = readUserAgent(user_agent)
    return {
      short_code,
      clicked_at: time,
      referrer: readReferrer(referrer),
      country: readCountry(country, ip),
      browser,
      device,
      bot,
      visitor: hashVisitor(time, ip, user_agent),
      ip: keepAddresses ? ip : '',
    }
  }
}
