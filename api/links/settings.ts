import { z } from 'zod'
import { settingsFragment } from '../../settings/fragment.ts'
import { documented, list, port } from '../../settings/variables.ts'

export interface LinksSettings {
  /** The header in which trusted proxies say which country a visitor is in, in lower case; undefined: none does. */
  readonly countryHeader: string | undefined
  /** Where the short domains are served besides the API's own port; 0: any free one. */
  readonly shortPort: number
  /** What short links begin with, the first one where nobody chooses: `https://sho.rt`. */
  readonly domains: readonly string[]
  /** What short codes are derived with: whoever knows it can foretell them. Undefined: one is made on first start. */
  readonly secret: string | undefined
}

/** 128 bits as text, at least. */
const MIN_SECRET_CHARACTERS = 22

/** A host, or the whole beginning of short links where that is not http. */
function shortDomain(text: string, context: z.core.$RefinementCtx<string>): string {
  const base = /^https?:\/\//i.test(text) ? text : `http://${text}`
  const url = URL.canParse(base) ? new URL(base) : undefined
  if (url !== undefined && url.pathname === '/' && url.search === '' && url.hash === '' && url.username === '') return url.origin
  context.addIssue({ code: 'custom', message: `${text} is no host and no address like https://sho.rt` })
  return z.NEVER
}

export const linksSettings = settingsFragment({
  variables: {
    SHORT_PORT: documented(port().prefault('8090'), 'port of short links, which `API_PORT` serves too under their Host'),
    SHORT_DOMAINS: documented(
      list.pipe(z.array(z.string().transform(shortDomain))).prefault('localhost:8090'),
      'what short links begin with: hosts, or addresses like `https://sho.rt`',
    ),
    LINKS_SECRET: documented(
      z.string().min(MIN_SECRET_CHARACTERS, 'is too short: give at least 22 random characters').optional(),
      'what short codes are derived with; production needs one, the same for all APIs',
      'made',
    ),
    CLICKS_COUNTRY_HEADER: documented(
      z
        .string()
        .regex(/^[A-Za-z0-9-]{1,64}$/, 'must be the name of a header')
        .toLowerCase()
        .optional(),
      "header in which a CDN in front of the short domains says the visitor's country, such as `CF-IPCountry`; believed of `TRUSTED_PROXIES` alone",
    ),
  },
  rules(env, report, { isProduction }) {
    if (!isProduction || env.LINKS_SECRET !== undefined) return
    report('LINKS_SECRET', 'is missing: with NODE_ENV=production no secret is made here; set the same random text for all API instances')
  },
  value: (env): LinksSettings => ({
    countryHeader: env.CLICKS_COUNTRY_HEADER,
    shortPort: env.SHORT_PORT,
    domains: env.SHORT_DOMAINS,
    secret: env.LINKS_SECRET,
  }),
})
