import Access
import ArgumentParser
import CloudKitModel
import PipelineRuntime
import Signing
import Time

struct KeyCreateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Creates a key of the web services.",
        discussion: "Makes the key file if it is missing. Names of keys are unique in a file.",
        subcommands: [KeyCreateAPICommand.self, KeyCreateServerCommand.self, KeyCreateSignInCommand.self])
}

struct KeyCreateAPICommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "api",
        abstract: "Creates an API token, which identifies an app, and prints it.",
        discussion: """
            Of the token, the key file contains only a hash and the last four characters, so nobody can print the \
            token again.

              belfry key create api keys.json web --container iCloud.com.example.Notes --environment production
              belfry key create api keys.json status-page --container iCloud.com.example.Notes --database public --read-only
            """)

    @OptionGroup var newKey: NewKeyArguments
    @OptionGroup var databases: DatabaseOptions
    @Option(
        help: """
            Where users of the app sign in. A request that needs a user, but comes from a client that has not signed in, is \
            answered with this URL.
            """)
    var signInURL: String?

    func run() throws {
        let draft = newKey.draft(.api(signInURL: signInURL), databases.scopes)
        guard let token = try newKey.create(draft).token else { preconditionFailure("a new API key has no token") }
        StandardError.write("created \(draft.name). Its API token, for ckAPIToken; it is not shown again:")
        try StandardOutput.write(line: token)
    }
}

struct KeyCreateServerCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "server",
        abstract: "Registers the public key of a server that signs its requests, and prints the key's ID.",
        discussion: """
            The server's requests act as one user in the public database. The private key stays with the server:

              openssl ecparam -name prime256v1 -genkey -noout -out eckey.pem
              openssl ec -in eckey.pem -pubout -out importer.pem
              belfry key create server keys.json importer --public-key importer.pem --user _importer --container '*'
            """)

    @OptionGroup var newKey: NewKeyArguments
    @OptionGroup var publicKey: PublicKeyOption
    @Option(help: "The record name of the user for whom the server acts.")
    var user: String

    func run() throws {
        let draft = newKey.draft(.server(try publicKey.key(), user: user), [.public])
        let id = try newKey.create(draft).key.id
        StandardError.write("created \(draft.name). Its key ID, for X-Apple-CloudKit-Request-KeyID:")
        try StandardOutput.write(line: id)
    }
}

struct KeyCreateSignInCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sign-in",
        abstract: "Registers the public key of your sign-in service, and prints the key's ID.",
        discussion: """
            The service signs assertions. The gateway exchanges an assertion for a web authentication token. Revoking the \
            key does not end the sessions of users who have signed in; `belfry key sign-out` does.

              belfry key create sign-in keys.json accounts --public-key accounts.pem --container iCloud.com.example.Notes
            """)

    @OptionGroup var newKey: NewKeyArguments
    @OptionGroup var databases: DatabaseOptions
    @OptionGroup var publicKey: PublicKeyOption

    func run() throws {
        let draft = newKey.draft(.signIn(try publicKey.key()), databases.scopes)
        let id = try newKey.create(draft).key.id
        StandardError.write("created \(draft.name). Its key ID, for the `iss` claim of assertions:")
        try StandardOutput.write(line: id)
    }
}
