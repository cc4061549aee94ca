# frozen_string_literal: true

# Thin's own TCP backend with a longer queue: EventMachine's, of 100, drops connections that come
# in a burst.
class Backend < Thin::Backends::TcpServer
  def initialize(host, port, _options)
    super(host, port)
  end

  def connect
    listener = TCPServer.new(host, port)
    listener.listen(1024)
    @signature = EventMachine.attach_server(listener, Thin::Connection, &method(:initialize_connection))
  end
end
