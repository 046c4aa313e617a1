import Access
import ArgumentParser
import PipelineRuntime

struct KeyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "key",
        abstract: "Creates, lists and revokes the keys of the web services.",
        discussion: """
            A key file contains all keys of a gateway; several gateways may share the file. A key file that anybody \
            except its owner can access is refused. A running gateway notices each change at its next request. (The \
            keys that encrypt links and doors are of another kind: `belfry curve`.)

              belfry key create api keys.json web --container iCloud.com.example.Notes
              belfry key create server keys.json importer --public-key importer.pem --user _importer --container '*'
              belfry key create sign-in keys.json accounts --public-key accounts.pem --container iCloud.com.example.Notes
              belfry key list keys.json
              belfry key revoke keys.json web
              belfry key sign-out keys.json _alice --container iCloud.com.example.Notes
            """,
        subcommands: [KeyCreateCommand.self, KeyListCommand.self, KeyRevokeCommand.self, KeySignOutCommand.self])
}

/// The key file of a command.
struct AccessKeyFileArgument: ParsableArguments {
    @Argument(help: "The key file of the gateway.", completion: .file())
    var file: String

    var keyFile: AccessKeyFile { AccessKeyFile(path: file) }
}

struct KeyRevokeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke",
        abstract: "Revokes a key at once.",
        discussion: """
            If the key is an API token, all web authentication tokens that were issued under it become invalid too.

              belfry key revoke keys.json web
            """)

    @OptionGroup var file: AccessKeyFileArgument
    @Argument(help: "The name or the ID of the key.")
    var key: String

    func run() throws {
        let revoked = try file.keyFile.edit { keys throws(AccessKeyError) in try keys.revoke(key) }
        StandardError.write("revoked \(revoked.name) (\(revoked.kind.word), …\(revoked.lastCharacters))")
    }
}

extension AccessKeyError: ErrorWithStatus {
    package var status: ToolStatus {
        switch self {
        case .missing, .unknownKey: .noInput
        case .failed: .inputOutput
        case .accessibleToOthers, .unreadable: .configuration
        case .invalid: .usage
        case .nameTaken: .cannotCreate
        }
    }
}
