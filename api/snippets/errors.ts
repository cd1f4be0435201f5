import { defineErrors } from '../kit/errors.ts'

export const snippetErrors = defineErrors({
  paste_not_found: {
    status: 404,
    when: 'no snippet has this id, or the snippet is deleted, has expired, or was read as often as allowed',
    message: 'This snippet does not exist. It may have expired or been deleted.',
  },
  private_paste: {
    status: 403,
    when: 'the snippet is private, and the caller is not its owner',
    message: 'This snippet is private. Only its owner can read it.',
  },
  invalid_content: {
    status: 400,
    when: 'the content of a snippet is empty',
    message: 'The content must not be empty.',
  },
  invalid_language: {
    status: 400,
    when: 'the language of a snippet is unknown',
    message: 'This language is unknown. Omit the language to have it detected.',
  },
  not_comparable: {
    status: 422,
    when: 'one of two snippets is too large or has limited reads, or the snippets differ too much to be compared',
    message: 'The snippets cannot be compared: one is too large or has limited reads, or they differ too much.',
  },
})

/** Message of `forbidden`. It names no other user, because a snippet of an anonymous caller has no owner. */
export const OWNER_ONLY = 'Only the owner of this snippet may do this. A snippet that was created without a token has no owner.'
