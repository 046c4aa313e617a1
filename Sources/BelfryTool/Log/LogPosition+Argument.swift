import ArgumentParser
import Inspect

extension LogPosition: ExpressibleByArgument {}
