import { StoreOpenError } from './open-error.ts'

/** Only a part of another store was copied into it yet. */
export class UnfinishedCopyError extends StoreOpenError {
  override readonly name = 'UnfinishedCopyError'
  constructor() {
    super(
      'A copy into this store is unfinished: run the same `tapeline store copy` again, which goes on where it stopped, or empty the store.',
    )
  }
}
