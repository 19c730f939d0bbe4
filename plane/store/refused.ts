// A store that cannot be used safely. The plane does not start with it.

export class StoreRefused extends Error {
  override readonly name = "StoreRefused";
}
