/// Isolates classes whose members are all `nonisolated`, so that they are `Sendable` as CloudKit's are, and the compiler
/// has checked it.
///
/// A class with subclasses is `Sendable` for the compiler only if an actor isolates it. Nothing runs on this one: what
/// the classes have is immutable, or behind a `Mutex`. An extension's members say `nonisolated` themselves.
@globalActor
public actor CKIsolation {
    public static let shared = CKIsolation()
}
