import { faultsError } from '../../core/errors.ts'

/** @param owner what the cursor should have belonged to: `this address` */
export function otherCursor(owner: string): Error {
  const message = `cursor does not belong to ${owner}, or was changed.`
  return faultsError([{ param: 'cursor', error: 'invalid_param', message, reason: 'foreign' }])
}
