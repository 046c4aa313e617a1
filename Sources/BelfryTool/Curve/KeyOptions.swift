import ArgumentParser
import PipelineRuntime
import ZeroMQ

/// The key option of commands that connect to stages.
struct KeyOptions: ParsableArguments {
    @Option(
        help: """
            A file with your secret key, as `belfry curve make` writes it. Without this option, the command uses the stage's \
            key from the pipeline file.
            """, completion: .file())
    var key: String?

    /// The key in the given file; nil without the option.
    ///
    /// - Throws: ``ToolFailure`` if the file is missing or does not contain a secret key; `SecretFileError` if the file
    ///   cannot be read, or if other users may read it.
    func pair() throws -> CurveKeyPair? { try key.map { try KeyFile(path: $0).pair() } }
}

extension CurvePublicKey {
    /// - Throws: `ValidationError` if the text is not a public key.
    init(argument text: String) throws {
        do throws(ZMQError) { try self.init(z85: text) } catch {
            throw ValidationError(
                "--server-key takes a public key of 40 characters, as `belfry curve show` prints it, not '\(text.printable)'"
            )
        }
    }
}
