import Access
import ArgumentParser
import PipelineRuntime
import Time

struct KeySignOutCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sign-out",
        abstract: "Signs out one user, or everybody, on all devices.",
        discussion: """
            All web authentication tokens of the user in the container become invalid. With --everybody, the gateway gets a \
            new secret, so all tokens of all users become invalid: do this if somebody else has read the key file.

              belfry key sign-out keys.json _alice --container iCloud.com.example.Notes
              belfry key sign-out keys.json --everybody
            """)

    @OptionGroup var file: AccessKeyFileArgument
    @Argument(help: "The user's record name.")
    var user: String?
    @Option(help: "The user's container.")
    var container: String?
    @Flag(help: "Sign out all users of all containers.")
    var everybody = false

    func validate() throws {
        guard everybody ? user == nil && container == nil : user != nil && container != nil else {
            throw ValidationError("give a user and --container, or only --everybody")
        }
    }

    func run() throws {
        guard let user, let container else {
            try file.keyFile.edit { keys throws(AccessKeyError) in keys.signOutEverybody(SystemRandom.bytes) }
            return StandardError.write("everybody is signed out")
        }
        try file.keyFile.edit { keys throws(AccessKeyError) in
            try keys.signOut(user, of: container, at: Instant.wall())
        }
        StandardError.write("\(user) is signed out of \(container)")
    }
}
