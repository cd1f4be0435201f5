import { defineErrors } from '../kit/errors.ts'

export const matchesErrors = defineErrors({
  under_age: {
    status: 400,
    when: 'the birth date makes the user younger than 18 today (UTC)',
    message: 'Users must be at least 18 years old.',
  },
  invalid_target: {
    status: 400,
    when: 'a user swipes, blocks or unblocks themselves, or a reported match names the same user twice',
    message: 'The target must be another user.',
  },
  location_required: {
    status: 400,
    when: "the request contains no location, and the user's location is not known yet",
    message: 'Your location is not known. Send lat and lon, or use POST /v1/location first.',
  },
  profile_inactive: {
    status: 403,
    when: 'the profile of the caller is switched off',
    message: 'Your profile is switched off. Switch it on with PATCH /v1/me.',
  },
  profile_not_found: {
    status: 404,
    when: 'the caller has no profile; or the other user has no profile, has switched it off, or is separated from the caller by a block or an ended match',
    message: 'This profile does not exist.',
  },
  match_not_found: { status: 404, when: 'the caller has no such match', message: 'You have no such match.' },
  already_matched: {
    status: 409,
    when: 'the last swipe has led to a match, which a rewind cannot take back',
    message: 'The last swipe has led to a match, so it cannot be taken back. End the match instead.',
  },
  nothing_to_rewind: {
    status: 409,
    when: 'there is no swipe to take back, or the last swipe was already taken back',
    message: 'There is no swipe to take back.',
  },
})
