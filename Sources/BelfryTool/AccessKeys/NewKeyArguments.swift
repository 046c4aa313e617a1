import Access
import ArgumentParser
import CloudKitModel
import Foundation
import Signing
import Time

/// The arguments for new keys of all kinds.
struct NewKeyArguments: ParsableArguments {
    @OptionGroup var file: AccessKeyFileArgument
    @Argument(help: "A name for the key, as the access log shows it.")
    var name: String
    @Option(help: "The container that the key is for; '*' for every container.")
    var container: String
    @Option(help: "An environment that the key is for; may be repeated (default: both).")
    var environment: [ContainerEnvironment] = []
    @Flag(help: "Requests with this key can only read.")
    var readOnly = false

    func draft(_ kind: KeyDraft.Kind, _ databases: Set<DatabaseScope>) -> KeyDraft {
        let scope = KeyScope(
            container: container == KeyScope.everyContainer ? nil : container,
            environments: Set(environment.isEmpty ? ContainerEnvironment.allCases : environment), databases: databases,
            isReadOnly: readOnly)
        return KeyDraft(name: name, scope: scope, kind: kind)
    }

    func create(_ draft: KeyDraft) throws -> (key: AccessKey, token: String?) {
        try file.keyFile.edit(orBeginningWith: AccessKeys(SystemRandom.bytes)) { keys throws(AccessKeyError) in
            try keys.create(draft, at: Instant.wall(), SystemRandom.bytes)
        }
    }
}

/// The databases of an API token or of a sign-in key.
struct DatabaseOptions: ParsableArguments {
    @Option(help: "A database that the key is for; may be repeated (default: all three).")
    var database: [DatabaseScope] = []

    var scopes: Set<DatabaseScope> { Set(database.isEmpty ? DatabaseScope.allCases : database) }
}

struct PublicKeyOption: ParsableArguments {
    @Option(
        help: "A file with a public key on the curve P-256, as `openssl ec -pubout` writes it.", completion: .file())
    var publicKey: String

    /// - Throws: ``ToolFailure`` if the file cannot be read, or does not contain a public key on the curve P-256.
    func key() throws -> PublicKey {
        let pem: String
        do { pem = try String(contentsOfFile: publicKey, encoding: .utf8) } catch {
            throw ToolFailure(.noInput, "cannot read \(publicKey): \(error.localizedDescription)")
        }
        do { return try PublicKey(pem: pem) } catch {
            throw ToolFailure(.badData, "\(publicKey): \(error); write the file with `openssl ec -in KEY -pubout`")
        }
    }
}

extension ContainerEnvironment: ExpressibleByArgument {
    package init?(argument: String) { self.init(word: argument) }
    package static var allValueStrings: [String] { allCases.map { "\($0.word)" } }
}

extension DatabaseScope: ExpressibleByArgument {
    package init?(argument: String) { self.init(word: argument) }
    package static var allValueStrings: [String] { allCases.map { "\($0.word)" } }
}
