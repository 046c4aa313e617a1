import ArgumentParser
import PipelineRuntime
import ZeroMQ

struct KeysCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keys",
        abstract: "Makes, shows and rotates the keys that encrypt links and doors (CURVE).",
        discussion: """
            A key file holds a secret key, which its owner alone may read. Its public key goes into pipeline files, and \
            may be known to all. Wherever a public key stands there, two may, as ['OLD', 'NEW']: so a key changes \
            without a moment in which nobody is let in.

              belfry keys make shop.key             makes shop.key, prints its public key
              belfry keys show shop.key             prints it again
              belfry keys rotate shop.key           makes shop.key.next, prints its public key
              belfry keys rotate shop.key --finish  puts shop.key.next in the place of shop.key

            A client's key changes in four steps: rotate; list both keys under its name, and reload the stage (SIGHUP); \
            rotate --finish, and start the client again; take the old key out of the list.

            A stage has one secret key at a time, so its own key changes at a reload, and its clients know both keys \
            meanwhile: rotate; write both as its publicKey (and after --server-key, upstreamKey), and reload all that \
            read this file; rotate --finish, and reload the stage; take the old key out.
            """,
        subcommands: [KeysMakeCommand.self, KeysShowCommand.self, KeysRotateCommand.self])
}

struct KeysMakeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "make",
        abstract: "Makes a key file and prints its public key.",
        discussion: """
            Never overwrites a file: then it exits with 73.

              belfry keys make shop.key
            """)

    @Argument(help: "The file to make.")
    var file: String

    func run() throws {
        let pair = try KeyFile(path: file).make()
        StandardError.write("\(file): made, for its owner alone; its public key goes into pipeline files:")
        try StandardOutput.write(line: pair.publicKey.z85)
    }
}

struct KeysShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Prints the public keys of key files, a line each.",
        discussion: """
              belfry keys show shop.key
              belfry keys show shop.key shop.key.next
            """)

    @Argument(help: "Key files.", completion: .file())
    var files: [String]

    func run() throws {
        for file in files {
            let file = KeyFile(path: file)
            try StandardOutput.write(line: try file.pair().publicKey.z85)
            if file.next.exists { StandardError.write("\(file.path) is being rotated: \(file.next.path) follows it") }
        }
    }
}

struct KeysRotateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rotate",
        abstract: "Makes the key that is to follow another, or puts it in its place.",
        discussion: """
            `belfry keys --help` has the steps around it. Prints the new public key both times.

              belfry keys rotate shop.key
              belfry keys rotate shop.key --finish
            """)

    @Argument(help: "The key file.", completion: .file())
    var file: String

    @Flag(help: "Put the next key in the place of the present one, which is gone then.")
    var finish = false

    func run() throws {
        let file = KeyFile(path: file)
        let present = try file.pair().publicKey
        let next = try finish ? file.takeNext() : file.next.make()
        if finish {
            StandardError.write(
                "\(file.path) has the new key; whoever uses it takes it at its next start or reload. Then take the old one, "
                    + "'\(present)', out of pipeline files. The new public key is:")
        } else {
            StandardError.write(
                "\(file.next.path): made. List both keys in pipeline files, as ['\(present)', '\(next.publicKey)'], reload, "
                    + "then: belfry keys rotate \(file.path) --finish. The new public key is:")
        }
        try StandardOutput.write(line: next.publicKey.z85)
    }
}
