import type { LinkStats } from '../../../schemas/links/types.ts'

/** Statistics of a link without clicks. */
export const NO_CLICKS: LinkStats = {
  as_of: 0,
  total_clicks: 0,
  bot_clicks: 0,
  unique_clicks: 0,
  unique_is_exact: true,
  hours: [],
  referrers: [],
  countries: [],
  browsers: [],
  devices: [],
}
