import { StoreOpenError } from './open-error.ts'

/** Only a part of another store has been copied into this one so far. */
export class UnfinishedCopyError extends StoreOpenError {
  override readonly name = 'UnfinishedCopyError'
  constructor() {
    super(
      'A copy into this store is unfinished: run the same `tapeline store copy` again, which goes on where it stopped, or empty the store.',
    )
  }
}
