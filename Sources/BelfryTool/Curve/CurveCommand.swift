import ArgumentParser
import PipelineRuntime
import ZeroMQ

struct CurveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "curve",
        abstract: "Makes, shows and rotates the keys that encrypt links and doors (CURVE).",
        discussion: """
            A key file contains a secret key, which only its owner may read. The public key goes into pipeline files, and \
            everybody may know it. A pipeline file may have two public keys in place of one, as ['OLD', 'NEW'], so that a \
            key can change without a moment in which clients are rejected.

              belfry curve make shop.key             makes shop.key, prints its public key
              belfry curve show shop.key             prints it again
              belfry curve rotate shop.key           makes shop.key.next, prints its public key
              belfry curve rotate shop.key --finish  replaces shop.key by shop.key.next

            To change the key of a client: run rotate; list both keys under its name, and reload the stage (SIGHUP); run \
            rotate --finish, and restart the client; remove the old key from the list.

            To change the key of a stage: run rotate; write both keys as its publicKey (and in --server-key and \
            upstreamKey), and reload every process that reads the pipeline file; run rotate --finish, and reload the stage; \
            remove the old key. Until then its clients accept both keys, while the stage has one secret key at a time.
            """,
        subcommands: [CurveMakeCommand.self, CurveShowCommand.self, CurveRotateCommand.self],
        // `belfry curve` was `belfry keys` before `belfry key` existed.
        aliases: ["keys"])
}

struct CurveMakeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "make",
        abstract: "Makes a key file and prints its public key.",
        discussion: """
            Never overwrites a file: if the file exists, the command exits with 73.

              belfry curve make shop.key
            """)

    @Argument(help: "The file to make.")
    var file: String

    func run() throws {
        let pair = try KeyFile(path: file).make()
        StandardError.write("made \(file), which only you can read. Its public key, for pipeline files:")
        try StandardOutput.write(line: pair.publicKey.z85)
    }
}

struct CurveShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Prints the public keys of key files, one on each line.",
        discussion: """
              belfry curve show shop.key
              belfry curve show shop.key shop.key.next
            """)

    @Argument(help: "Key files.", completion: .file())
    var files: [String]

    func run() throws {
        for file in files {
            let file = KeyFile(path: file)
            try StandardOutput.write(line: try file.pair().publicKey.z85)
            if file.next.exists {
                StandardError.write("\(file.path) is being rotated: \(file.next.path) will replace it")
            }
        }
    }
}

struct CurveRotateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rotate",
        abstract: "Makes the next key of a key file, or replaces the current key by it.",
        discussion: """
            See `belfry curve --help` for all steps. Prints the new public key both times.

              belfry curve rotate shop.key
              belfry curve rotate shop.key --finish
            """)

    @Argument(help: "The key file.", completion: .file())
    var file: String

    @Flag(help: "Replace the current key by the next one. The current key is then gone.")
    var finish = false

    func run() throws {
        let file = KeyFile(path: file)
        let current = try file.pair().publicKey
        let next = try finish ? file.replaceByNext() : file.next.make()
        if finish {
            StandardError.write(
                "\(file.path) has the new key. Restart or reload the processes that use it, then remove the old key, "
                    + "'\(current)', from pipeline files. The new public key is:")
        } else {
            StandardError.write(
                "made \(file.next.path). List both keys in pipeline files, as ['\(current)', '\(next.publicKey)'], reload, "
                    + "then run: belfry curve rotate \(file.path) --finish. The new public key is:")
        }
        try StandardOutput.write(line: next.publicKey.z85)
    }
}
