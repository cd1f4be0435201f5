import { defineErrors } from '../kit/errors.ts'

/** The trends service's own entries of the error catalogue. */
export const trendsErrors = defineErrors({
  unknown_location: {
    status: 404,
    retryable: false,
    when: 'the woeid is none of those that GET /v1/trends/available lists',
    message: 'There is no such location: GET /v1/trends/available lists them all.',
  },
  trends_stale: {
    status: 503,
    retryable: true,
    when: 'the newest list of the location is older than 3 minutes, and such lists are never served',
    message: 'The trends of this location are out of date and being recomputed: try again shortly.',
  },
})
