import { defineErrors } from '../kit/errors.ts'

export const trendsErrors = defineErrors({
  unknown_location: {
    status: 404,
    when: 'the woeid is not in the list of GET /v1/trends/available',
    message: 'This location does not exist. GET /v1/trends/available lists all locations.',
  },
  past_list_not_found: {
    status: 404,
    when: 'the location has no snapshot from the 3 minutes before `at`',
    message: 'There is no list of this location at this time or in the 3 minutes before. Lists are kept for 90 days.',
  },
  too_many_readers: {
    status: 503,
    when: "this process already sends streams of trends to 1,000 readers, or to 100 readers with the caller's address",
    message: 'Too many streams of trends are open, in total or from your address. Connect again later, or use GET /v1/trends.',
  },
  trends_stale: {
    status: 503,
    when: 'the newest list of the location is more than 3 minutes old, or more than 6 minutes ahead of the clock, so it must not be served',
    message: 'The trends of this location are out of date and are being recomputed. Try again shortly.',
  },
})
