import { z } from 'zod'
import { settingsFragment, type ValueOf } from '../../settings/fragment.ts'
import { documented, list, port } from '../../settings/variables.ts'

/** Minimum length of the secret. 22 characters in base64 hold 128 bits. */
const MIN_SECRET_CHARACTERS = 22
/** Maximum length of a short domain with its port, so that its short URLs fit into a QR code of the minimum size. */
const MAX_DOMAIN_CHARACTERS = 100

/** Parses a short domain, given as a base URL, or as a host if the scheme is http. */
function shortDomain(text: string, context: z.core.$RefinementCtx<string>): string {
  const base = /^https?:\/\//i.test(text) ? text : `http://${text}`
  const url = URL.canParse(base) ? new URL(base) : undefined
  if (url !== undefined && url.host.length > MAX_DOMAIN_CHARACTERS) {
    context.addIssue({ code: 'custom', message: `${text} is longer than ${MAX_DOMAIN_CHARACTERS} characters` })
    return z.NEVER
  }
  if (url !== undefined && url.pathname === '/' && url.search === '' && url.hash === '' && url.username === '' && url.password === '')
    return url.origin
  context.addIssue({ code: 'custom', message: `${text} is neither a host nor a base URL like https://sho.rt` })
  return z.NEVER
}

export const linksSettings = settingsFragment({
  variables: {
    SHORT_PORT: documented(port().prefault('8090'), 'additional port for short links; `API_PORT` also serves `SHORT_DOMAINS`'),
    SHORT_DOMAINS: documented(
      list.pipe(z.array(z.string().transform(shortDomain))).prefault('localhost:8090'),
      'domains of short links, as hosts or as base URLs like `https://sho.rt`',
    ),
    LINKS_SECRET: documented(
      z.string().min(MIN_SECRET_CHARACTERS, 'is too short; use at least 22 random characters').optional(),
      'secret from which short codes are derived; production requires one, the same for all APIs',
      'generated at the first start',
    ),
    CLICKS_COUNTRY_HEADER: documented(
      z
        .string()
        .regex(/^[A-Za-z0-9-]{1,64}$/, 'must be the name of a header')
        .toLowerCase()
        .optional(),
      "header, such as `CF-IPCountry`, in which a CDN gives the visitor's country; trusted only from `TRUSTED_PROXIES`",
    ),
  },
  rules(env, report, { isProduction }) {
    if (!isProduction || env.LINKS_SECRET !== undefined) return
    report('LINKS_SECRET', 'is missing, and no secret is created if NODE_ENV=production; set the same random text for all API instances')
  },
  value: (env) => ({
    /**
     * Lower-case name of the header in which trusted proxies send the visitor's country; undefined if they send no
     * country.
     */
    countryHeader: env.CLICKS_COUNTRY_HEADER,
    /** Additional port that serves the short domains. 0 chooses any free port. */
    shortPort: env.SHORT_PORT,
    /** Base URLs of short links, such as `https://sho.rt`. The first base URL is the default. */
    domains: env.SHORT_DOMAINS,
    /**
     * The secret from which short codes are derived. Anyone who knows it can predict the codes. If undefined, a secret
     * is created at the first start.
     */
    secret: env.LINKS_SECRET,
  }),
})

export type LinksSettings = ValueOf<typeof linksSettings>
